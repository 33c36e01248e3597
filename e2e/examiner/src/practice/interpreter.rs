//! The program that runs the apps, with what they need.

use std::path::Path;
use std::process::{Command, Stdio};

use super::exercise::Language;
use super::words;

/// The modules that an app in Python imports.
const IMPORTS: &str = "import flask, httpx, waitress";

/// Node has SQLite, but for old versions.
const OF_NODE: [&str; 2] = ["node", "--disable-warning=ExperimentalWarning"];

/// The command that an app's file is added to. What is missing is installed into the folder.
///
/// # Errors
///
/// A sentence with the way out.
pub(super) fn prepared(folder: &Path, language: Language) -> Result<Vec<String>, String> {
    match language {
        Language::Python => python(folder),
        Language::Javascript => node(folder),
    }
}

fn python(folder: &Path) -> Result<Vec<String>, String> {
    let own = folder.join(".venv/bin/python");
    let own = own.to_str().ok_or("--folder: its path is no text")?;
    let knows_all = |python: &&str| is_done(Command::new(python).args(["-c", IMPORTS]));
    if let Some(python) = [own, "python3"].iter().find(|it| knows_all(it)) {
        return Ok(vec![(*python).to_owned()]);
    }
    words::say("Installing Flask into the folder, once …");
    let steps = [
        vec!["python3", "-m", "venv", ".venv"],
        vec![
            own,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--requirement",
            "requirements.txt",
        ],
    ];
    installed(folder, &steps)?;
    Ok(vec![own.to_owned()])
}

fn node(folder: &Path) -> Result<Vec<String>, String> {
    let [node, quiet] = OF_NODE;
    if !is_done(Command::new(node).args([quiet, "-e", "require('node:sqlite')"])) {
        return Err("the apps need Node 22.13 or newer, as `node` in PATH".to_owned());
    }
    if !folder.join("node_modules/express").exists() {
        words::say("Installing Express into the folder, once …");
        let npm = "npm ci --ignore-scripts --no-audit --no-fund --loglevel error";
        installed(folder, &[npm.split(' ').collect()])?;
    }
    Ok(OF_NODE.map(str::to_owned).into())
}

fn is_done(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    quiet
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
}

fn installed(folder: &Path, steps: &[Vec<&str>]) -> Result<(), String> {
    for step in steps {
        let mut command = Command::new(step[0]);
        let ended = command
            .args(&step[1..])
            .current_dir(folder)
            .stdin(Stdio::null())
            .status();
        let failed = match ended {
            Ok(status) if status.success() => continue,
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        return Err(format!(
            "`{}` in {}: {failed}. Do it by hand, and begin again",
            step.join(" "),
            folder.display()
        ));
    }
    Ok(())
}

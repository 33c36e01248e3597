//! The flags that describe the app: those of an examination, and of `examine init`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use url::Url;

use super::config_file::{ConfigFile, parse_step};
use crate::app::{Flow, Step};
use crate::browser::is_loopback;
use crate::learn::Hints;
use crate::plan::{DEFAULT_CONTROL, ExaminationPlan};

/// The app, and the way to sign in and out of it.
#[derive(Debug, Args)]
pub(super) struct AppSettings {
    /// The page on which a visitor chooses to sign in, like http://localhost:5000/
    #[arg(value_name = "START")]
    start: Option<String>,

    /// The command that starts the app, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,

    /// The control address of the stack that a running app uses
    /// [default: http://127.0.0.1:8010]
    #[arg(long, value_name = "URL")]
    control: Option<String>,

    /// Register this callback before the app starts; repeat for more
    #[arg(long, value_name = "URL")]
    callback: Vec<String>,

    /// A page that shows who is signed in, like /me, if the start page does not
    #[arg(long, value_name = "PATH")]
    whoami: Option<String>,

    /// The step that starts a login: google=css:#google, or google=POST /login/google
    #[arg(long, value_name = "PROVIDER=STEP")]
    sign_in: Vec<String>,

    /// The step that signs out: css:SELECTOR, or POST /logout
    #[arg(long, value_name = "STEP")]
    sign_out: Option<String>,

    /// A log file of the app, to be searched for secrets; repeat for more
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,

    /// Examine this flow alone
    #[arg(long, value_enum)]
    flow: Option<Flow>,

    /// Examine an app on this other host, which serves /.well-known/examine-permission
    #[arg(long, value_name = "HOST")]
    i_may_attack: Option<String>,
}

impl AppSettings {
    /// The plan for this app, joined with its file. A flag wins over the file.
    pub(super) fn plan(&self, file: ConfigFile) -> Result<ExaminationPlan, String> {
        let start = self.start.clone().or(file.start).ok_or(
            "which app? Give its start page, like `examine http://localhost:5000/`, or start in examine.toml",
        )?;
        let sign_out = self.sign_out.clone().or(file.sign_out);
        Ok(ExaminationPlan {
            control: control_address(self.control.as_deref())?,
            command: or(&self.command, file.command),
            callbacks: or(&self.callback, file.callback),
            log: or(&self.log, file.log),
            flow: self.flow,
            hints: Hints {
                whoami: self.whoami.clone().or(file.whoami),
                sign_in: self.sign_in(file.sign_in)?,
                sign_out: sign_out
                    .map(|step| parse_step("sign_out", &step))
                    .transpose()?,
            },
            ..ExaminationPlan::new(start_page(&start, self.i_may_attack.as_deref())?)
        })
    }

    fn sign_in(&self, file: BTreeMap<String, String>) -> Result<Vec<(String, Step)>, String> {
        let mut sign_in = Vec::new();
        for (provider, step) in file {
            sign_in.push((
                provider_name("sign_in", &provider)?,
                parse_step("sign_in", &step)?,
            ));
        }
        for flag in &self.sign_in {
            let (provider, step) = flag.split_once('=').ok_or_else(|| {
                format!("--sign-in {flag}: expected PROVIDER=STEP, like google=css:#google")
            })?;
            sign_in.retain(|(known, _)| known != provider);
            sign_in.push((
                provider_name("--sign-in", provider)?,
                parse_step("--sign-in", step)?,
            ));
        }
        Ok(sign_in)
    }
}

/// The flags, or the file's list where there is none.
fn or<T: Clone>(flags: &[T], file: Vec<T>) -> Vec<T> {
    match flags {
        [] => file,
        flags => flags.to_vec(),
    }
}

/// The start page: an address on this machine, or on the host that may be attacked.
pub(super) fn start_page(text: &str, other_host: Option<&str>) -> Result<Url, String> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| {
        format!("{text} is no address: give the start page, like http://localhost:5000/")
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the start page has a user name or a password: leave them out".to_owned());
    }
    if !is_loopback(&url) && url.host_str() != other_host {
        let host = url.host_str().unwrap_or_default();
        return Err(format!(
            "{host} is not on this machine: the examiner attacks an app. If you may do that there, give \
             --i-may-attack {host}"
        ));
    }
    Ok(url)
}

/// The control address. Only a stack on this machine is moved and disturbed.
fn control_address(flag: Option<&str>) -> Result<String, String> {
    let Some(text) = flag else {
        return Ok(DEFAULT_CONTROL.to_owned());
    };
    match Url::parse(text) {
        Ok(url) if is_loopback(&url) => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err(format!(
            "--control {}: expected the control address of a stack on this machine, like {DEFAULT_CONTROL}",
            stack::mask::url(text)
        )),
    }
}

fn provider_name(place: &str, name: &str) -> Result<String, String> {
    match name {
        "google" | "github" => Ok(name.to_owned()),
        _ => Err(format!(
            "{place}: the providers are google and github, not {name}"
        )),
    }
}

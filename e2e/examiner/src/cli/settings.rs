//! The flags, joined with `examine.toml` into a plan. A flag wins over the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Deserializer};
use url::Url;

use crate::app::{Flow, Step};
use crate::browser::is_loopback;
use crate::catalogue;
use crate::chromium::ChromiumSettings;
use crate::plan::{DEFAULT_CONTROL, ExaminationPlan, Hints};
use crate::share::Share;

/// The examination.
#[derive(Debug, Args)]
pub(super) struct Settings {
    #[command(flatten)]
    app: AppSettings,

    /// The file with the settings of this app [default: examine.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Run only this check; repeat for more
    #[arg(long, value_name = "ID")]
    only: Vec<String>,

    /// The number of copies of the app that are examined at once, if it was started here
    /// [default: 3, or 12 of an app that answers slowly]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    jobs: Option<u8>,

    /// Leave out Chromium, and with it the checks that need a real browser
    #[arg(long, conflicts_with_all = ["webdriver", "show"])]
    no_chromium: bool,

    /// The address of a ChromeDriver that runs already [default: chromedriver from PATH]
    #[arg(long, value_name = "URL", conflicts_with = "show")]
    webdriver: Option<String>,

    /// Show Chromium, slowly enough to follow, with one copy of the app
    #[arg(long)]
    show: bool,

    /// Repeat what failed when a file below the current folder changes, until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    pub(super) watch: bool,

    /// No checks: fifty people sign in and out for SECONDS, while answers are lost, delayed and
    /// cut, the clock jumps, brokers and instances restart, and strangers replay what they see
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["only", "watch", "junit", "html", "markdown"],
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) storm: Option<u64>,

    /// The seed of a storm, which repeats its plan [default: any]
    #[arg(long, value_name = "N", requires = "storm")]
    pub(super) seed: Option<u64>,

    /// Leave out how each finding is mended: for those who practise
    #[arg(long)]
    no_fix: bool,

    /// Print JSON instead of text
    #[arg(long)]
    pub(super) json: bool,

    /// Write JUnit's XML to FILE as well
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,

    /// Write a page to FILE as well, with diagrams and every fix
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    /// Write Markdown to FILE as well
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,

    /// Write the grade to FILE as well, as a badge in SVG
    #[arg(long, value_name = "FILE")]
    pub(super) badge: Option<PathBuf>,

    /// Say what became better and what worse since the report that --json printed into FILE; the
    /// exit status is 1 if something became worse
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub(super) compare: Option<PathBuf>,
}

impl Settings {
    /// The plan of the examination.
    ///
    /// # Errors
    ///
    /// One sentence that names the flag or the key.
    pub(super) fn plan(&self) -> Result<ExaminationPlan, String> {
        let file = AppSettings::of_file(self.config.as_deref())?;
        known_ids("--only", &self.only)?;
        Ok(ExaminationPlan {
            only: self.only.clone(),
            jobs: match self.show {
                true => Some(1),
                false => self.jobs.map(usize::from),
            },
            chromium: self.chromium()?,
            hides_fix: self.no_fix,
            ..self.app.plan(file)?
        })
    }

    fn chromium(&self) -> Result<ChromiumSettings, String> {
        match &self.webdriver {
            _ if self.no_chromium => Ok(ChromiumSettings::Off),
            Some(text) => {
                let url = Url::parse(text).ok().filter(|url| url.scheme() == "http");
                url.map(ChromiumSettings::At).ok_or_else(|| {
                    format!("--webdriver {text}: expected an address like http://127.0.0.1:9515")
                })
            }
            None if !self.show => Ok(ChromiumSettings::Hidden),
            None if has_display() => Ok(ChromiumSettings::Shown),
            None => Err(
                "--show needs a display, and DISPLAY and WAYLAND_DISPLAY are empty: leave the flag out, or run this where windows are shown"
                    .to_owned(),
            ),
        }
    }
}

/// Whether a window can be shown here.
#[expect(
    clippy::disallowed_methods,
    reason = "a display is known from the environment alone"
)]
fn has_display() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}

/// Refuses an id that no check has; `place` begins the sentence.
fn known_ids(place: &str, ids: &[String]) -> Result<(), String> {
    let Some(id) = ids.iter().find(|id| catalogue::check(id).is_none()) else {
        return Ok(());
    };
    let all = catalogue::checks().iter().map(|check| check.id.as_str());
    let likeness = |its: &str| strsim::jaro(its, id);
    let by_likeness = |a: &&str, b: &&str| likeness(a).total_cmp(&likeness(b));
    let nearest = all.clone().max_by(by_likeness);
    Err(match nearest.filter(|its| likeness(its) > 0.75) {
        Some(nearest) => format!("{place}: there is no check {id}; the nearest is {nearest}"),
        None => {
            let all = all.collect::<Vec<_>>().join(", ");
            format!("{place}: there is no check {id}; there are {all}")
        }
    })
}

/// The app, and the way to sign in and out of it. A flag is a key of `examine.toml` as well, unless
/// serde skips it.
#[derive(Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AppSettings {
    /// The page on which a visitor chooses to sign in, like http://localhost:5000/
    #[arg(value_name = "START")]
    start: Option<String>,

    /// The command that starts the app, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,

    /// The control address of the stack that a running app uses
    #[arg(long, value_name = "URL", default_value = DEFAULT_CONTROL)]
    #[serde(skip)]
    control: String,

    /// Register this callback before the app starts; repeat for more
    #[arg(long, value_name = "URL")]
    callback: Vec<String>,

    /// A page that shows who is signed in, like /me, if the start page does not, or shows others
    #[arg(long, value_name = "PATH")]
    whoami: Option<String>,

    /// The step that starts a login: google=css:#google, or google=POST /login/google
    #[arg(long, value_name = "PROVIDER=STEP")]
    #[serde(deserialize_with = "pairs")]
    sign_in: Vec<String>,

    /// The step that signs out: css:SELECTOR, or POST /logout
    #[arg(long, value_name = "STEP")]
    sign_out: Option<String>,

    /// In the file alone: what `--share` and `--share-command` say.
    #[arg(skip)]
    share: Option<Share>,

    /// A log file of the app, to be searched for secrets; repeat for more
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,

    /// A setting by which instances of the app share their sessions, like
    /// SESSIONS_DB={folder}/sessions.sqlite; repeat for more
    #[arg(long = "share", value_name = "NAME=VALUE")]
    #[serde(skip)]
    share_env: Vec<String>,

    /// The command of the store that they share, like "redis-server --port {port}"
    #[arg(long, value_name = "COMMAND")]
    #[serde(skip)]
    share_command: Option<String>,

    /// A check that is known to fail; repeat for more
    #[arg(long, value_name = "ID")]
    expect: Vec<String>,

    /// Grade by this version of the catalogue, like 2026-11: checks that came later are reported
    /// and do not count [default: the newest]
    #[arg(long, value_name = "VERSION")]
    catalogue: Option<String>,

    /// Examine this flow alone
    #[arg(long, value_enum)]
    #[serde(skip)]
    flow: Option<Flow>,

    /// Examine an app on this other host, which serves /.well-known/examine-permission
    #[arg(long, value_name = "HOST")]
    #[serde(skip)]
    i_may_attack: Option<String>,
}

/// The table `{ google = "css:#google" }` as flags have it: `google=css:#google`.
fn pairs<'de, D: Deserializer<'de>>(table: D) -> Result<Vec<String>, D::Error> {
    let table = BTreeMap::<String, String>::deserialize(table)?.into_iter();
    Ok(table
        .map(|(name, value)| format!("{name}={value}"))
        .collect())
}

impl AppSettings {
    /// The plan for this app, joined with its file. A flag wins over the file.
    pub(super) fn plan(&self, file: Self) -> Result<ExaminationPlan, String> {
        let start = self.start.clone().or(file.start).ok_or(
            "which app? Give its start page, like `examine http://localhost:5000/`, or start in examine.toml",
        )?;
        let sign_out = self.sign_out.as_ref().or(file.sign_out.as_ref());
        let sign_out = sign_out.map(|step| Step::parse("sign_out", step));
        let mut plan = ExaminationPlan {
            control: control_address(&self.control)?,
            command: or(&self.command, file.command),
            callbacks: or(&self.callback, file.callback),
            share: self.share(file.share)?,
            log: or(&self.log, file.log),
            flow: self.flow,
            expect: or(&self.expect, file.expect),
            hints: Hints {
                whoami: self.whoami.clone().or(file.whoami),
                sign_in: sign_in(file.sign_in.iter().chain(&self.sign_in))?,
                sign_out: sign_out.transpose()?,
            },
            ..ExaminationPlan::new(start_page(&start, self.i_may_attack.as_deref())?)
        };
        known_ids("expect", &plan.expect)?;
        if let Some(version) = self.catalogue.clone().or(file.catalogue) {
            let known = catalogue::versions();
            if !known.contains(&version.as_str()) {
                let known = known.join(", ");
                return Err(format!(
                    "catalogue {version}: there is no such version; there are {known}"
                ));
            }
            plan.catalogue = version;
        }
        Ok(plan)
    }

    fn share(&self, mut share: Option<Share>) -> Result<Option<Share>, String> {
        for flag in &self.share_env {
            let (name, value) = flag.split_once('=').ok_or_else(|| {
                format!("--share {flag}: expected NAME=VALUE, like SESSIONS_DB={{folder}}/sessions.sqlite")
            })?;
            let env = &mut share.get_or_insert_default().env;
            env.insert(name.to_owned(), value.to_owned());
        }
        if let Some(command) = &self.share_command {
            let words = command.split_whitespace().map(str::to_owned);
            share.get_or_insert_default().command = words.collect();
        }
        Ok(share)
    }

    /// Reads the file that was named, or `examine.toml` if there is one.
    fn of_file(named: Option<&Path>) -> Result<Self, String> {
        let path = named.unwrap_or(Path::new(FILE_NAME));
        if named.is_none() && matches!(path.try_exists(), Ok(false)) {
            return Ok(Self::default());
        }
        let read = std::fs::read_to_string(path).map_err(|error| error.to_string());
        // The error's own text spreads over several lines.
        let settings = read.and_then(|text| {
            toml::from_str(&text).map_err(|error: toml::de::Error| error.message().to_owned())
        });
        settings.map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// The steps `PROVIDER=STEP`; of several by one provider the last.
fn sign_in<'a>(settings: impl Iterator<Item = &'a String>) -> Result<Vec<(String, Step)>, String> {
    let mut steps: Vec<(String, Step)> = Vec::new();
    for setting in settings {
        let (provider, step) = setting.split_once('=').ok_or_else(|| {
            format!("--sign-in {setting}: expected PROVIDER=STEP, like google=css:#google")
        })?;
        if !["google", "github"].contains(&provider) {
            return Err(format!(
                "sign_in: the providers are google and github, not {provider}"
            ));
        }
        steps.retain(|(known, _)| known != provider);
        steps.push((provider.to_owned(), Step::parse("sign_in", step)?));
    }
    Ok(steps)
}

/// The flags, or the file's list where there is none.
fn or<T: Clone>(flags: &[T], file: Vec<T>) -> Vec<T> {
    match flags {
        [] => file,
        flags => flags.to_vec(),
    }
}

/// The start page: an address on this machine, or on the host that may be attacked.
fn start_page(text: &str, other_host: Option<&str>) -> Result<Url, String> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| {
        format!("{text} is no address: give the start page, like http://localhost:5000/")
    })?;
    without_credentials("the start page", &url)?;
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
///
/// # Errors
///
/// If it is no address on this machine: one sentence that names the flag.
pub fn control_address(text: &str) -> Result<String, String> {
    let url = Url::parse(text);
    url.as_ref()
        .map_or(Ok(()), |url| without_credentials("--control", url))?;
    match url {
        Ok(url) if is_loopback(&url) => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err(format!(
            "--control {}: expected the control address of a stack on this machine, like {DEFAULT_CONTROL}",
            stack::mask::url(text)
        )),
    }
}

fn without_credentials(place: &str, url: &Url) -> Result<(), String> {
    match url.username().is_empty() && url.password().is_none() {
        true => Ok(()),
        false => Err(format!(
            "{place} has a user name or a password: leave them out"
        )),
    }
}

/// The file that is read if it is there.
pub(super) const FILE_NAME: &str = "examine.toml";

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn chromium_is_hidden_unless_a_flag_says_otherwise() {
        let driver = "http://127.0.0.1:9515";
        let at_driver = ChromiumSettings::At(Url::parse(driver).unwrap());
        for (flags, expected) in [
            (&["examine"][..], ChromiumSettings::Hidden),
            (&["examine", "--no-chromium"], ChromiumSettings::Off),
            (&["examine", "--webdriver", driver], at_driver),
        ] {
            let cli = Cli::try_parse_from(flags).unwrap();
            assert_eq!(cli.settings.chromium(), Ok(expected));
        }
    }
}

//! The flags, joined with `examine.toml` into a plan. A flag wins over the file.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use url::Url;

use crate::app::{Flow, Step};
use crate::browser::is_loopback;
use crate::catalogue;
use crate::chromium::ChromiumSettings;
use crate::plan::{DEFAULT_CONTROL, ExaminationPlan, Hints};
use crate::share::Share;

/// The examination.
#[derive(Debug, Args)]
pub struct Settings {
    #[command(flatten)]
    app: AppSettings,

    /// The file with the settings of this app [default: examine.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// A check that is known to fail; repeat for more
    #[arg(long, value_name = "ID")]
    expect: Vec<String>,

    /// Run only this check; repeat for more
    #[arg(long, value_name = "ID")]
    only: Vec<String>,

    /// Grade by this version of the catalogue, like 2026-11: checks that came later are reported
    /// and do not count [default: the newest]
    #[arg(long, value_name = "VERSION")]
    catalogue: Option<String>,

    /// The number of copies of the app that are examined at once, if it was started here
    /// [default: 3, or 12 of an app that answers slowly]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=16))]
    jobs: Option<u64>,

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
        let file = ConfigFile::read(self.config.as_deref())?;
        let expect = or(&self.expect, file.expect.clone());
        known_ids("expect", &expect)?;
        known_ids("--only", &self.only)?;
        let catalogue = self.catalogue.clone().or(file.catalogue.clone());
        Ok(ExaminationPlan {
            only: self.only.clone(),
            expect,
            catalogue: catalogue_version(catalogue)?,
            jobs: if self.show {
                Some(1)
            } else {
                self.jobs.and_then(|it| it.try_into().ok())
            },
            chromium: self.chromium(has_display())?,
            ..self.app.plan(file)?
        })
    }

    fn chromium(&self, has_display: bool) -> Result<ChromiumSettings, String> {
        if self.no_chromium {
            return Ok(ChromiumSettings::Off);
        }
        if let Some(url) = &self.webdriver {
            let parsed = Url::parse(url).ok().filter(|url| url.scheme() == "http");
            return parsed.map(ChromiumSettings::At).ok_or_else(|| {
                format!("--webdriver {url}: expected an address like http://127.0.0.1:9515")
            });
        }
        match (self.show, has_display) {
            (true, false) => Err(
                "--show needs a display, and DISPLAY and WAYLAND_DISPLAY are empty: leave the flag out, or run this where windows are shown"
                    .to_owned(),
            ),
            (true, true) => Ok(ChromiumSettings::Shown),
            (false, _) => Ok(ChromiumSettings::Hidden),
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

/// A version of the catalogue; the newest if none is named.
fn catalogue_version(named: Option<String>) -> Result<String, String> {
    let known = catalogue::versions();
    match named {
        None => Ok(catalogue::newest_version().to_owned()),
        Some(version) if known.contains(&version.as_str()) => Ok(version),
        Some(version) => Err(format!(
            "catalogue {version}: there is no such version; there are {}",
            known.join(", ")
        )),
    }
}

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

    /// A setting by which instances of the app share their sessions, like
    /// SESSIONS_DB={folder}/sessions.sqlite; repeat for more
    #[arg(long, value_name = "NAME=VALUE")]
    share: Vec<String>,

    /// The command of the store that they share, like "redis-server --port {port}"
    #[arg(long, value_name = "COMMAND")]
    share_command: Option<String>,

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
            share: self.share(file.share)?,
            log: or(&self.log, file.log),
            flow: self.flow,
            hints: Hints {
                whoami: self.whoami.clone().or(file.whoami),
                sign_in: self.sign_in(&file.sign_in)?,
                sign_out: sign_out
                    .map(|step| Step::parse("sign_out", &step))
                    .transpose()?,
            },
            ..ExaminationPlan::new(start_page(&start, self.i_may_attack.as_deref())?)
        })
    }

    fn share(&self, mut share: Option<Share>) -> Result<Option<Share>, String> {
        for flag in &self.share {
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

    fn sign_in(&self, file: &BTreeMap<String, String>) -> Result<Vec<(String, Step)>, String> {
        let mut sign_in: Vec<(String, Step)> = Vec::new();
        let mut add = |place: &str, provider: &str, step: &str| -> Result<(), String> {
            let found = (provider_name(place, provider)?, Step::parse(place, step)?);
            sign_in.retain(|(known, _)| known != provider);
            sign_in.push(found);
            Ok(())
        };
        for (provider, step) in file {
            add("sign_in", provider, step)?;
        }
        for flag in &self.sign_in {
            let (provider, step) = flag.split_once('=').ok_or_else(|| {
                format!("--sign-in {flag}: expected PROVIDER=STEP, like google=css:#google")
            })?;
            add("--sign-in", provider, step)?;
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
fn start_page(text: &str, other_host: Option<&str>) -> Result<Url, String> {
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

/// The file that is read if it is there.
pub(super) const FILE_NAME: &str = "examine.toml";

/// The keys of `examine.toml`; each has a flag.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    start: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    callback: Vec<String>,
    whoami: Option<String>,
    #[serde(default)]
    sign_in: BTreeMap<String, String>,
    sign_out: Option<String>,
    share: Option<Share>,
    #[serde(default)]
    log: Vec<PathBuf>,
    #[serde(default)]
    expect: Vec<String>,
    catalogue: Option<String>,
}

impl ConfigFile {
    /// Reads the file that was named, or `examine.toml` if there is one.
    fn read(named: Option<&Path>) -> Result<Self, String> {
        let path = named.unwrap_or(Path::new(FILE_NAME));
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|error| format!("{}: {error}", path.display())),
            Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        // The error's own text spreads over several lines.
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        settings: Settings,
    }

    #[track_caller]
    fn chromium(flags: &[&str], has_display: bool) -> Result<ChromiumSettings, String> {
        let words = ["examine"].iter().chain(flags);
        let flags = Flags::try_parse_from(words).unwrap();
        flags.settings.chromium(has_display)
    }

    #[test]
    fn chromium_is_hidden_unless_a_flag_says_otherwise() {
        let at = |url| ChromiumSettings::At(Url::parse(url).unwrap());
        for (flags, expected) in [
            (&[][..], ChromiumSettings::Hidden),
            (&["--show"], ChromiumSettings::Shown),
            (&["--no-chromium"], ChromiumSettings::Off),
            (
                &["--webdriver", "http://127.0.0.1:9515"],
                at("http://127.0.0.1:9515"),
            ),
        ] {
            assert_eq!(chromium(flags, true), Ok(expected), "{flags:?}");
        }
    }

    #[test]
    fn a_visible_browser_needs_a_display() {
        assert_eq!(chromium(&[], false), Ok(ChromiumSettings::Hidden));
        let error = chromium(&["--show"], false).unwrap_err();
        assert!(error.starts_with("--show needs a display"), "{error}");
    }
}

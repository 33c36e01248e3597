//! The flags, joined with `examine.toml` into a plan. A flag wins over the file.

use std::path::PathBuf;

use clap::Args;
use url::Url;

use super::app_settings::AppSettings;
use super::config_file::ConfigFile;
use crate::catalogue;
use crate::chromium::ChromiumSettings;
use crate::plan::ExaminationPlan;

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
}

impl Settings {
    /// The plan of the examination.
    ///
    /// # Errors
    ///
    /// One sentence that names the flag or the key.
    pub(super) fn plan(&self) -> Result<ExaminationPlan, String> {
        let file = ConfigFile::read(self.config.as_deref())?;
        let expect = match self.expect.as_slice() {
            [] => file.expect.clone(),
            expect => expect.to_vec(),
        };
        known_ids("expect", &expect)?;
        known_ids("--only", &self.only)?;
        Ok(ExaminationPlan {
            only: self.only.clone(),
            expect,
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

fn known_ids(place: &str, ids: &[String]) -> Result<(), String> {
    for id in ids {
        if !catalogue::checks().iter().any(|check| check.id == *id) {
            let all = catalogue::checks().iter().map(|check| check.id.as_str());
            let likeness = |its: &str| strsim::jaro(its, id);
            let nearest = all
                .clone()
                .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            return Err(match nearest.filter(|its| likeness(its) > 0.75) {
                Some(nearest) => {
                    format!("{place}: there is no check {id}; the nearest is {nearest}")
                }
                None => format!(
                    "{place}: there is no check {id}; there are {}",
                    all.collect::<Vec<_>>().join(", ")
                ),
            });
        }
    }
    Ok(())
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

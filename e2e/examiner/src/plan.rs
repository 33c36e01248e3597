//! The plan of an examination: the app, the stack, and what is to be tried.

use std::path::PathBuf;

use url::Url;

use crate::app::{Flow, Step};
use crate::browser::is_loopback;
use crate::catalogue;
pub use crate::chromium::ChromiumSettings;
use crate::share::Share;

/// The control address of `just up`.
pub const DEFAULT_CONTROL: &str = "http://127.0.0.1:8010";

/// The number of testbeds at once: one for each of two cores, and one that waits.
pub const DEFAULT_JOBS: usize = 3;

/// The settings of the app that its owner gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    pub(crate) whoami: Option<String>,
    /// The step to each provider, by its name.
    pub(crate) sign_in: Vec<(String, Step)>,
    pub(crate) sign_out: Option<Step>,
}

/// The plan of one examination.
#[derive(Debug, Clone)]
pub struct ExaminationPlan {
    /// The page on which a visitor chooses to sign in.
    pub start: Url,
    /// The control address of the stack that a running app uses.
    pub control: String,
    /// The command of an app that the examiner starts; empty for one that runs.
    pub command: Vec<String>,
    /// The callbacks that are registered before such an app starts.
    pub callbacks: Vec<String>,
    /// The way in which instances of such an app share their sessions; none if none is given.
    pub share: Option<Share>,
    /// Log files of the app, searched for secrets.
    pub log: Vec<PathBuf>,
    /// The one flow to examine; every flow that the app offers if there is none.
    pub flow: Option<Flow>,
    /// The checks to run; all if there is none.
    pub only: Vec<String>,
    /// The checks that are known to fail.
    pub expect: Vec<String>,
    /// The version of the catalogue by which the grade is given: checks that came later are
    /// reported, and count for nothing.
    pub catalogue: String,
    /// The number of testbeds that an app with a command is examined in at once; without it
    /// as many as its speed asks for.
    pub jobs: Option<usize>,
    /// Whether the report leaves out how a finding is mended.
    pub hides_fix: bool,
    /// The real browser, for the checks that need one.
    pub chromium: ChromiumSettings,
    pub(crate) hints: Hints,
}

impl ExaminationPlan {
    /// Every check on the app at `start`, which runs and uses the stack of `just up`.
    pub fn new(start: Url) -> Self {
        Self {
            start,
            control: DEFAULT_CONTROL.to_owned(),
            command: Vec::new(),
            callbacks: Vec::new(),
            share: None,
            log: Vec::new(),
            flow: None,
            only: Vec::new(),
            expect: Vec::new(),
            catalogue: catalogue::newest_version().to_owned(),
            jobs: None,
            hides_fix: false,
            chromium: ChromiumSettings::default(),
            hints: Hints::default(),
        }
    }

    /// The flags of `examine` that repeat this plan, without the checks and the command.
    pub(crate) fn flags(&self) -> Vec<String> {
        let (hints, share) = (&self.hints, self.share.iter());
        let control = self.command.is_empty().then_some(&self.control);
        let sign_in = hints.sign_in.iter();
        let sign_in = sign_in.map(|(provider, step)| format!("{provider}={}", step.setting()));
        let settings = share.clone().flat_map(|it| &it.env);
        let stores = share.map(|it| it.command.join(" "));
        let host = self.start.host_str().filter(|_| !is_loopback(&self.start));
        let pinned = Some(&self.catalogue).filter(|it| *it != catalogue::newest_version());
        [
            given("--control", control.filter(|it| *it != DEFAULT_CONTROL)),
            given("--callback", &self.callbacks),
            given("--whoami", &hints.whoami),
            given("--sign-in", sign_in),
            given("--sign-out", hints.sign_out.as_ref().map(Step::setting)),
            given("--share", settings.map(|(name, it)| format!("{name}={it}"))),
            given("--share-command", stores.filter(|it| !it.is_empty())),
            given("--log", self.log.iter().map(|it| it.display())),
            given("--catalogue", pinned),
            given("--flow", self.flow),
            given("--i-may-attack", host),
            match &self.chromium {
                ChromiumSettings::At(driver) => given("--webdriver", [driver]),
                ChromiumSettings::Off => vec!["--no-chromium".to_owned()],
                ChromiumSettings::Hidden | ChromiumSettings::Shown => Vec::new(),
            },
        ]
        .concat()
    }
}

/// The flag before each of its values.
fn given(flag: &str, values: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    let values = values.into_iter();
    let words = values.flat_map(|value| [flag.to_owned(), value.to_string()]);
    words.collect()
}

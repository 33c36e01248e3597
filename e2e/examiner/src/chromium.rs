//! A real Chromium, for what only a real browser shows: `SameSite`, storage, scripts,
//! history, `Referer`. One ChromeDriver serves a whole examination, one browser at a time;
//! each browser has a fresh profile, which is removed when the browser is dropped.

mod driver;
mod tab;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, OnceCell};
use url::Url;

use crate::verdict::{Outcome, Stop};

pub use driver::{ChromeDriver, ChromiumSettings};
pub(crate) use tab::{ARRIVAL_TIMEOUT, LOOK_EVERY, Tab};

/// The ports that the Fetch standard blocks.
const BAD_PORTS: [u16; 82] = [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697, 10080,
];

/// The Chromium of an examination. It starts with its first use, and ends with its last owner.
#[derive(Clone, Default)]
pub(crate) struct Chromium {
    settings: ChromiumSettings,
    driver: Arc<OnceCell<Result<ChromeDriver, String>>>,
    /// Held by the one browser that runs.
    turn: Arc<Mutex<()>>,
    /// Whether the app's Content-Security-Policy keeps Chromium from the broker.
    pub(crate) has_blocking_policy: Arc<AtomicBool>,
    /// Whether a browser has started before.
    has_started: Arc<AtomicBool>,
}

impl Chromium {
    pub(crate) fn new(settings: &ChromiumSettings) -> Self {
        Self {
            settings: settings.clone(),
            ..Self::default()
        }
    }

    /// The same for an app at `start`, whose port browsers may refuse.
    pub(crate) fn for_app(settings: &ChromiumSettings, start: &Url) -> Self {
        let chromium = Self::new(settings);
        if let Some(port) = start.port().filter(|it| BAD_PORTS.contains(it)) {
            let reason = format!("browsers refuse the port {port}: give the app another one");
            let _ = chromium.driver.set(Err(reason));
        }
        chromium
    }

    /// A browser with a fresh profile, once no other runs.
    pub(crate) async fn open(&self) -> Outcome<Tab> {
        let turn = self.turn.clone().lock_owned().await;
        let driver = self.driver().await.map_err(Stop::not_tested)?;
        // A tool that never worked is missing; one that has worked before is a failure of the
        // examiner's own.
        let has_started = self.has_started.load(Ordering::Relaxed);
        let session = driver.session().await.map_err(|error| match has_started {
            true => Stop::harness(error),
            false => Stop::not_tested(error),
        })?;
        self.has_started.store(true, Ordering::Relaxed);
        Ok(Tab {
            session,
            turn: Some(turn),
            is_shown: self.settings == ChromiumSettings::Shown,
            record: None,
            exchanges: Vec::new(),
        })
    }

    async fn driver(&self) -> Result<&ChromeDriver, String> {
        let start = || ChromeDriver::start(&self.settings);
        let driver = self.driver.get_or_init(start).await;
        driver.as_ref().map_err(Clone::clone)
    }

    /// Whether a browser runs, so that the next one has to wait.
    pub(crate) fn is_busy(&self) -> bool {
        self.turn.try_lock().is_err()
    }

    /// Waits until the last browser has ended: a driver that ran before goes on.
    pub(crate) async fn stop(&self) {
        drop(self.turn.lock().await);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::browser::Visit;
    use crate::foreign_site::{ForeignSite, Lure};
    use crate::time::{Stopwatch, pause};
    use crate::verdict::Verdict;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[tokio::test]
    async fn a_browser_that_does_not_start_is_not_tested_and_named_with_the_way_out() {
        let nowhere = ChromiumSettings::At(url("http://127.0.0.1:9"));
        for (settings, port, words) in [
            (ChromiumSettings::Off, 5000, ["--no-chromium", ""]),
            (ChromiumSettings::Hidden, 10080, ["port 10080", "another"]),
            (nowhere, 5000, ["http://127.0.0.1:9", "--webdriver"]),
        ] {
            let start = url(&format!("http://localhost:{port}/"));
            let chromium = Chromium::for_app(&settings, &start);
            let stop = chromium.open().await.err().unwrap();
            assert_eq!(stop.verdict, Verdict::NotTested);
            let actual = stop.actual;
            assert!(words.iter().all(|it| actual.contains(it)), "{actual}");
            assert!(!chromium.is_busy(), "the turn is given back");
            // A driver that has worked before is a failure of the examiner.
            chromium.has_started.store(true, Ordering::Relaxed);
            let stop = chromium.open().await.err().unwrap();
            let has_driver = matches!(settings, ChromiumSettings::At(_));
            assert_eq!(stop.verdict == Verdict::Harness, has_driver);
        }
    }

    /// A tab, and the Chromium that is to outlive it.
    async fn open() -> (Chromium, Tab) {
        let chromium = Chromium::default();
        let tab = chromium.open().await.unwrap();
        (chromium, tab)
    }

    #[tokio::test(flavor = "multi_thread")]
    #[cfg_attr(not(feature = "consumers"), ignore = "needs Chromium: just test")]
    async fn a_form_of_the_foreign_site_arrives_with_the_fields_of_the_visit() {
        let site = ForeignSite::start().await.unwrap();
        let (_chromium, mut tab) = open().await;
        let mut visit = Visit::typed(&url("http://127.0.0.1:9/a?b=c&d"));
        visit.fields = Some(vec![("token".to_owned(), "a \"&< b".to_owned())]);
        let page = site.page(Lure::Form(&visit)).await;
        tab.open(&page).await.unwrap();
        let script = "const [form] = document.forms; return [form.action, form.token.value]";
        let form = tab.run(script, Vec::new()).await.unwrap();
        assert_eq!(form, json!([visit.url.as_str(), "a \"&< b"]));
    }

    #[tokio::test(flavor = "multi_thread")]
    #[cfg_attr(not(feature = "consumers"), ignore = "needs Chromium: just test")]
    async fn chromium_keeps_no_profile_and_no_process_after_its_end() {
        let chromium = Chromium::default();
        let driver = chromium.driver().await.unwrap();
        let (program, folder) = driver.process.as_ref().unwrap();
        let (group, folder) = (program.id(), folder.path().to_owned());
        let without_browser = processes_of(group);
        let mut tab = chromium.open().await.unwrap();
        assert!(chromium.is_busy());
        tab.open(&url("about:blank")).await.unwrap();
        assert!(processes_of(group) > without_browser);
        assert!(std::fs::read_dir(&folder).unwrap().count() > 0);
        drop(tab);
        // The browser ends with its tab, and the driver with the examination.
        ends_to(group, without_browser).await;
        chromium.stop().await;
        drop(chromium);
        assert!(!folder.exists());
        ends_to(group, 0).await;
    }

    /// Waits until so many processes of a group are left.
    async fn ends_to(group: u32, left: usize) {
        // A process that has ended may wait to be collected by init.
        let watch = Stopwatch::start();
        while processes_of(group) > left {
            assert!(watch.elapsed().as_secs() < 10, "Chromium runs on");
            pause(Duration::from_millis(20)).await;
        }
    }

    /// The number of processes of a group.
    fn processes_of(group: u32) -> usize {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let stats = processes.filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
        let group = group.to_string();
        let is_of_group = |stat: &String| {
            // After the name, which is in brackets: the state, the parent, the group.
            let fields = stat.rsplit_once(')').map(|(_, fields)| fields);
            fields.and_then(|it| it.split_whitespace().nth(2)) == Some(&group)
        };
        stats.filter(is_of_group).count()
    }

    #[tokio::test(flavor = "multi_thread")]
    #[cfg_attr(not(feature = "consumers"), ignore = "needs Chromium: just test")]
    async fn a_secret_is_found_wherever_a_script_has_stored_it() {
        let site = ForeignSite::start().await.unwrap();
        let (_chromium, mut tab) = open().await;
        let page = site
            .page(Lure::Cookies(&["cookie=needle; HttpOnly".to_owned()]))
            .await;
        tab.open(&page).await.unwrap();
        let store = include_str!("chromium/store.js");
        tab.run_async(store, Vec::new()).await.unwrap();
        let held = tab.holdings(&page).await.unwrap().into_iter();
        let found = held.filter(|it| it.text.contains("needle"));
        let mut places: Vec<_> = found.map(|it| it.place).collect();
        places.sort();
        let expected = [
            "IndexedDB shop, basket",
            "history.state",
            "localStorage under key",
            "sessionStorage under length",
            "the cache pages",
            "the cookie cookie",
            "window.name",
        ];
        assert_eq!(places, expected);
    }
}

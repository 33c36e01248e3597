//! A real Chromium, for what only a real browser shows: `SameSite`, storage, scripts,
//! history, `Referer`. One ChromeDriver serves a whole examination, one browser at a time;
//! each browser has a fresh profile, which is removed when the browser is dropped.

mod driver;
mod secrets;
mod tab;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OnceCell, Semaphore};
use url::Url;

use crate::verdict::{Outcome, Stop};

pub use driver::{ChromeDriver, ChromiumSettings};
pub(crate) use tab::{ARRIVAL_TIMEOUT, Tab, failed};

/// The ports that the Fetch standard blocks.
const BAD_PORTS: [u16; 82] = [
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697, 10080,
];

/// The Chromium of an examination. It starts with its first use.
#[derive(Clone)]
pub(crate) struct Chromium(Arc<Shared>);

struct Shared {
    settings: ChromiumSettings,
    driver: OnceCell<Result<ChromeDriver, String>>,
    /// Held by the one browser that runs.
    turn: Arc<Semaphore>,
    /// Whether the app's Content-Security-Policy keeps Chromium from the broker.
    has_blocking_policy: AtomicBool,
    /// Whether a browser has started before.
    has_started: AtomicBool,
}

impl Chromium {
    pub(crate) fn new(settings: &ChromiumSettings) -> Self {
        Self(Arc::new(Shared {
            settings: settings.clone(),
            driver: OnceCell::new(),
            turn: Arc::new(Semaphore::new(1)),
            has_blocking_policy: AtomicBool::new(false),
            has_started: AtomicBool::new(false),
        }))
    }

    /// The same for an app at `start`, whose port browsers may refuse.
    pub(crate) fn for_app(settings: &ChromiumSettings, start: &Url) -> Self {
        let chromium = Self::new(settings);
        if let Some(port) = start.port().filter(|it| BAD_PORTS.contains(it)) {
            let reason = format!("browsers refuse the port {port}: give the app another one");
            let _ = chromium.0.driver.set(Err(reason));
        }
        chromium
    }

    /// A browser with a fresh profile, once no other runs.
    pub(crate) async fn open(&self) -> Outcome<Tab> {
        let turn = self.0.turn.clone().acquire_owned().await;
        let turn = turn.map_err(|_| Stop::harness("Chromium has ended already"))?;
        let driver = self.driver().await.map_err(Stop::not_tested)?;
        let session = driver.session().await.map_err(|error| self.failed(error))?;
        self.0.has_started.store(true, Ordering::Relaxed);
        Ok(Tab::new(session, turn, self.is_shown()))
    }

    /// A tool that never worked is missing; one that has worked before is a failure of the examiner's own.
    fn failed(&self, error: String) -> Stop {
        if self.0.has_started.load(Ordering::Relaxed) {
            Stop::harness(error)
        } else {
            Stop::not_tested(error)
        }
    }

    /// Whether a browser runs, so that the next one has to wait.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.turn.available_permits() == 0
    }

    pub(crate) fn is_shown(&self) -> bool {
        self.0.settings == ChromiumSettings::Shown
    }

    pub(crate) fn has_blocking_policy(&self) -> bool {
        self.0.has_blocking_policy.load(Ordering::Relaxed)
    }

    pub(crate) fn found_blocking_policy(&self) {
        self.0.has_blocking_policy.store(true, Ordering::Relaxed);
    }

    async fn driver(&self) -> Result<&ChromeDriver, String> {
        let settings = &self.0.settings;
        let driver = self.0.driver.get_or_init(|| ChromeDriver::start(settings));
        driver.await.as_ref().map_err(Clone::clone)
    }

    /// Ends the driver, once the last browser has ended.
    pub(crate) async fn stop(&self) {
        let _ = self.0.turn.acquire().await;
        self.0.turn.close();
        if let Some(Ok(driver)) = self.0.driver.get() {
            driver.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::Visit;
    use crate::foreign_site::ForeignSite;
    use crate::verdict::Verdict;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_browser_that_does_not_start_is_not_tested_and_named_with_the_way_out() {
        let [nowhere, app, refused] = ["127.0.0.1:9", "localhost:5000", "localhost:10080"]
            .map(|it| Url::parse(&format!("http://{it}")).unwrap());
        for (settings, start, words) in [
            (ChromiumSettings::Off, &app, ["--no-chromium", ""]),
            (
                ChromiumSettings::Hidden,
                &refused,
                ["refuse the port 10080", "another"],
            ),
            (
                ChromiumSettings::At(nowhere),
                &app,
                ["http://127.0.0.1:9", "--webdriver"],
            ),
        ] {
            let chromium = Chromium::for_app(&settings, start);
            let stop = chromium.open().await.err().unwrap();
            assert_eq!(stop.verdict, Verdict::NotTested);
            assert!(
                words.iter().all(|it| stop.actual.contains(it)),
                "{}",
                stop.actual
            );
            assert!(!chromium.is_busy(), "the turn is given back");
            // After another ran it is a failure of the examiner.
            if let ChromiumSettings::At(_) = settings {
                chromium.0.has_started.store(true, Ordering::Relaxed);
                let stop = chromium.open().await.err().unwrap();
                assert_eq!(stop.verdict, Verdict::Harness);
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    #[cfg_attr(not(feature = "consumers"), ignore = "needs Chromium: just test")]
    async fn a_form_of_the_foreign_site_arrives_with_the_fields_of_the_visit() {
        let chromium = Chromium::new(&ChromiumSettings::Hidden);
        let (site, other) = (
            ForeignSite::start().await.unwrap(),
            "http://127.0.0.1:9/a?b=c&d",
        );
        let mut tab = chromium.open().await.unwrap();
        let mut visit = Visit::typed(&Url::parse(other).unwrap());
        visit.fields = Some(vec![("token".to_owned(), "a \"&< b".to_owned())]);
        tab.open(&site.with_form(&visit)).await.unwrap();
        let script =
            "const form = document.forms[0]; return form.action + ' ' + form.elements.token.value";
        let form = tab.run(script, Vec::new()).await.unwrap();
        assert_eq!(form, format!("{other} a \"&< b"));
        drop(tab);
        chromium.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    #[cfg_attr(not(feature = "consumers"), ignore = "needs Chromium: just test")]
    async fn chromium_keeps_no_profile_and_no_process_after_its_end() {
        let chromium = Chromium::new(&ChromiumSettings::Hidden);
        let (folder, group) = chromium.driver().await.unwrap().traces();
        let without_browser = processes_of(group);
        let mut tab = chromium.open().await.unwrap();
        assert!(chromium.is_busy());
        tab.open(&Url::parse("about:blank").unwrap()).await.unwrap();
        assert!(processes_of(group) > without_browser);
        assert!(std::fs::read_dir(&folder).unwrap().count() > 0);
        drop(tab);
        // The browser ends with its tab, and the driver with the examination.
        ends_to(group, without_browser).await;
        chromium.stop().await;
        assert!(!folder.exists());
        ends_to(group, 0).await;
        assert_eq!(
            chromium.open().await.err().map(|it| it.verdict),
            Some(Verdict::Harness)
        );
    }

    /// Waits until so many processes of a group are left.
    async fn ends_to(group: u32, left: usize) {
        // A process that has ended may wait to be collected by init.
        let watch = crate::time::Stopwatch::start();
        while processes_of(group) > left {
            assert!(watch.elapsed().as_secs() < 10, "Chromium runs on");
            crate::time::pause(std::time::Duration::from_millis(20)).await;
        }
    }

    /// The number of processes of a group.
    fn processes_of(group: u32) -> usize {
        let group = group.to_string();
        let is_of_group = |stat: &String| {
            // After the name, which is in brackets: the state, the parent, the group.
            let (_, fields) = stat.rsplit_once(')').unwrap();
            fields.split_whitespace().nth(2) == Some(&group)
        };
        let processes = std::fs::read_dir("/proc").unwrap();
        let stats = processes
            .filter_map(|it| std::fs::read_to_string(it.unwrap().path().join("stat")).ok());
        stats.filter(is_of_group).count()
    }

    #[tokio::test(flavor = "multi_thread")]
    #[cfg_attr(not(feature = "consumers"), ignore = "needs Chromium: just test")]
    async fn a_secret_is_found_wherever_a_script_has_stored_it() {
        let chromium = Chromium::new(&ChromiumSettings::Hidden);
        let site = ForeignSite::start().await.unwrap();
        let mut tab = chromium.open().await.unwrap();
        let page = site.with_cookies(&["cookie=needle; HttpOnly".to_owned()]);
        tab.open(&page).await.unwrap();
        let store = r#"const done = arguments[0];
            localStorage.setItem('key', 'needle'); sessionStorage.setItem('length', 'needle'); window.name = 'needle';
            history.replaceState({ it: 'needle' }, '');
            const opening = indexedDB.open('shop');
            opening.onupgradeneeded = () => opening.result.createObjectStore('basket').add({ it: 'needle' }, 1);
            opening.onsuccess = () => { opening.result.close();
                caches.open('pages').then(it => it.put('/a', new Response('needle'))).then(() => done()); };"#;
        tab.run_async(store, Vec::new()).await.unwrap();
        let held = tab.holdings(&page).await.unwrap();
        let mut places: Vec<_> = held
            .iter()
            .filter(|it| it.text.contains("needle"))
            .collect();
        places.sort_by_key(|it| it.place.clone());
        let places: Vec<_> = places.iter().map(|it| it.place.as_str()).collect();
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
        drop(tab);
        chromium.stop().await;
    }
}

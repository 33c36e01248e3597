//! A real Chromium, for what only a real browser shows: `SameSite`, storage, scripts,
//! history, `Referer`. One ChromeDriver serves a whole examination, one browser at a time;
//! each browser has a fresh profile, which is removed when the browser is dropped.

mod driver;
mod foreign_site;
mod secrets;
mod steps;
mod tab;
mod traffic;

use std::sync::Arc;

use tokio::sync::{OnceCell, Semaphore};
use url::Url;

use crate::verdict::{Outcome, Stop};
use driver::Driver;

pub(crate) use foreign_site::ForeignSite;
pub(crate) use steps::Led;
pub(crate) use tab::Tab;

/// The ChromeDriver that an examination uses, as the command line says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChromiumSettings {
    /// The one in PATH, with a browser that no person sees.
    #[default]
    Hidden,
    /// The one in PATH, with a window, and slow enough for a person to follow.
    Shown,
    /// One that runs already, at this address.
    At(Url),
    /// None.
    Off,
}

/// The Chromium of an examination. It starts with its first use.
#[derive(Clone)]
pub(crate) struct Chromium(Arc<Shared>);

struct Shared {
    settings: ChromiumSettings,
    driver: OnceCell<Result<Driver, String>>,
    /// Held by the one browser that runs.
    turn: Arc<Semaphore>,
}

impl Chromium {
    pub(crate) fn new(settings: &ChromiumSettings) -> Self {
        Self(Arc::new(Shared {
            settings: settings.clone(),
            driver: OnceCell::new(),
            turn: Arc::new(Semaphore::new(1)),
        }))
    }

    /// A browser with a fresh profile, once no other runs.
    pub(crate) async fn open(&self) -> Outcome<Tab> {
        let turn = self.0.turn.clone().acquire_owned().await;
        let turn = turn.map_err(|_| Stop::harness("Chromium has ended already"))?;
        let driver = self.driver().await.map_err(Stop::not_tested)?;
        let session = driver.session().await.map_err(Stop::not_tested)?;
        Ok(Tab::new(session, turn, self.is_shown()))
    }

    /// Whether a browser runs, so that the next one has to wait.
    pub(crate) fn is_busy(&self) -> bool {
        self.0.turn.available_permits() == 0
    }

    pub(crate) fn is_shown(&self) -> bool {
        self.0.settings == ChromiumSettings::Shown
    }

    async fn driver(&self) -> Result<&Driver, String> {
        let settings = &self.0.settings;
        let driver = self.0.driver.get_or_init(|| Driver::start(settings));
        driver.await.as_ref().map_err(Clone::clone)
    }

    /// Ends the driver, once the last browser has ended.
    pub(crate) async fn stop(&self) {
        let _ = self.0.turn.acquire().await;
        self.0.turn.close();
        if let Some(Ok(driver)) = self.0.driver.get() {
            driver.stop().await;
        }
    }
}

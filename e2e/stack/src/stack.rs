//! The stack: a handle to everything that runs. The methods for tests are in `handle`.

mod handle;

use crate::launch::{Launch, RunningStack};
use crate::projects::ProjectRegistry;
use crate::runtime::StackUrls;
use crate::settings::StackSettings;
use crate::start_error::StackStartError;

/// A running stack.
pub struct Stack {
    running: RunningStack,
    urls: StackUrls,
}

impl Stack {
    /// Starts everything; when this returns, every server answers.
    ///
    /// # Errors
    ///
    /// If an address is taken; the error names it and the flag that sets it.
    pub async fn start(settings: StackSettings) -> Result<Self, StackStartError> {
        let projects = ProjectRegistry::default();
        if !settings.callbacks.is_empty() {
            projects.register_for_development("My app", "my-app", settings.callbacks.clone());
        }
        let launch = Launch {
            settings: &settings,
            projects,
            has_demo: true,
            extend_control: &|server| server,
        };
        let running = launch.start().await?;
        let urls = running.runtime.urls.with_demo();
        Ok(Self { running, urls })
    }

    /// Stops everything; open requests get a moment to finish.
    pub async fn stop(self) {
        self.running.stop().await;
    }
}

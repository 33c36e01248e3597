//! The stack: a handle to everything that runs. The methods for tests are in `handle`.

mod handle;

use std::sync::Arc;

use crate::launch::{Launch, RunningStack};
use crate::projects::ProjectRegistry;
use crate::runtime::StackUrls;
use crate::sandbox_directory::SandboxDirectory;
use crate::sandboxes::{self, Sandboxes};
use crate::settings::StackSettings;
use crate::start_error::StackStartError;
use crate::tls::SharedAuthority;

/// A running stack.
pub struct Stack {
    running: RunningStack,
    sandboxes: Arc<Sandboxes>,
    urls: StackUrls,
}

impl Stack {
    /// Starts everything; when this returns, every server answers.
    ///
    /// # Errors
    ///
    /// If an address is taken; the error names it and the flag that sets it.
    pub async fn start(settings: StackSettings) -> Result<Self, StackStartError> {
        settings.check()?;
        let authority = SharedAuthority::new(settings.hosts(), settings.ca_file.clone());
        if settings.ca_file.is_some() {
            // Clients read it at their start, which may be before the first https sandbox.
            authority.get()?;
        }
        let projects = ProjectRegistry::default();
        let callbacks = settings.callbacks.clone();
        if !callbacks.is_empty() {
            let reached_from = settings.reached_from();
            projects.register_for_development("My app", "my-app", callbacks, reached_from);
        }
        let directory = Arc::new(SandboxDirectory::default());
        let sandboxes = Sandboxes::new(&settings, authority.clone(), directory.clone());
        let launch = Launch {
            settings: &settings,
            projects,
            tls: settings.https.then(|| authority.get()).transpose()?,
            has_demo: true,
            directory,
            own_sandbox: None,
            extend_control: &|server| sandboxes::api::beside(server, sandboxes.clone()),
        };
        let running = launch.start().await?;
        let urls = running.runtime.urls.with_demo();
        Ok(Self {
            running,
            sandboxes,
            urls,
        })
    }

    /// Stops everything, its sandboxes too; open requests get a moment to finish.
    pub async fn stop(self) {
        self.sandboxes.end_all().await;
        self.running.stop().await;
    }
}

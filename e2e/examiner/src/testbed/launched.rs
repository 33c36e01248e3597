//! An app that a testbed has started, in one instance or in two.

use std::sync::OnceLock;

use tokio::sync::Mutex;

use crate::app_process::AppProcess;
use crate::control::Project;
use crate::plan::ExaminationPlan;
use crate::share::SharedState;
use crate::verdict::{Outcome, Stop};

/// An app that ends with this value.
pub(crate) struct Launched {
    pub(crate) plan: ExaminationPlan,
    pub(super) project: Project,
    pub(super) instances: Vec<Mutex<AppProcess>>,
    /// The check in which the app ended by itself.
    pub(super) ended_in: OnceLock<String>,
    /// What the instances share.
    pub(super) shared: SharedState,
}

impl Launched {
    /// Starts an instance of the app of `plan` at each of `ports`, with these settings and those
    /// of `shared` in its environment.
    pub(super) async fn start(
        plan: ExaminationPlan,
        project: Project,
        ports: &[u16],
        settings: &[(String, String)],
        shared: SharedState,
    ) -> Result<Self, String> {
        let host = plan.start.host_str().unwrap_or("localhost").to_owned();
        let mut instances = Vec::new();
        // One after the other, as a deployment does: the first may set up the store.
        for port in ports {
            let own = [("PORT".to_owned(), port.to_string())];
            let environment = [&shared.environment[..], settings, &own].concat();
            let mut process = AppProcess::start(&plan.command, environment, (&host, *port))?;
            process.listens().await?;
            instances.push(Mutex::new(process));
        }
        Ok(Self {
            plan,
            project,
            instances,
            ended_in: OnceLock::new(),
            shared,
        })
    }

    /// Ends an instance, as a deployment does.
    pub(crate) async fn end_gently(&self, instance: usize) {
        self.instances[instance].lock().await.end_gently().await;
    }

    /// Ends an instance, as a crash would, if it still runs, and starts it again.
    pub(crate) async fn restart(&self, instance: usize) -> Outcome {
        let restarted = self.instances[instance].lock().await.restart().await;
        restarted.map_err(Stop::not_testable)
    }
}

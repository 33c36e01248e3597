//! Sandboxes: whole stacks in the same process, each with ports, a clock, a store, queues,
//! faults and events of its own, so that many tests can run at once.
//!
//! A sandbox ends when it is deleted, or when nothing has called its control address for
//! its lifetime. System time decides that: the clocks of stack and sandbox are moved by
//! tests.

pub(crate) mod api;

mod activity;
mod class;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use broker::clock::Clock;
use serde::Serialize;
use tokio::sync::Notify;

use crate::launch::{Launch, RunningStack};
use crate::projects::{ProjectCredentials, ProjectRegistry};
use crate::request::ControlError;
use crate::runtime::{OwnSandbox, SandboxDirectory, SandboxId, SandboxLink, ServerUrls};
use crate::settings::{StackSettings, StackStartError};
use crate::tls::SharedAuthority;

use activity::Activity;

/// The sandboxes of one stack. Dropping it stops them.
pub(crate) struct Sandboxes {
    /// The settings that every sandbox takes from its stack.
    template: StackSettings,
    limit: usize,
    /// The system's time, by which sandboxes end.
    clock: Clock,
    /// Its certificate serves the sandboxes, too.
    authority: SharedAuthority,
    directory: Arc<SandboxDirectory>,
    registry: Mutex<Registry>,
    /// The number of the last learner of the class.
    last_learner: AtomicUsize,
    /// Wakes the reaper: a sandbox was added, or this is dropped.
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Registry {
    last_number: u64,
    starting: BTreeSet<SandboxId>,
    running: BTreeMap<SandboxId, Sandbox>,
}

struct Sandbox {
    name: String,
    /// The number of its learner, if it belongs to the class.
    learner: Option<usize>,
    activity: Arc<Activity>,
    stack: RunningStack,
}

/// A request for a sandbox that was checked.
pub(crate) struct SandboxPlan {
    /// The name; by default the id.
    name: Option<String>,
    /// The number of the learner that it is for.
    learner: Option<usize>,
    lifetime: Duration,
    has_demo: bool,
    projects: ProjectRegistry,
    settings: StackSettings,
}

/// The settings of a sandbox beside `stack`: free ports, automatic sign-ins, a clock of
/// its own.
fn template(stack: &StackSettings) -> StackSettings {
    StackSettings {
        upstream_timeout_ms: stack.upstream_timeout_ms,
        control_host: stack.control_host.clone(),
        https: stack.https,
        host: stack.host.clone(),
        users: stack.users.clone(),
        ..StackSettings::for_tests()
    }
}

impl Sandboxes {
    /// No sandboxes yet; each will take what it does not choose itself from `stack`.
    pub(crate) fn new(
        stack: &StackSettings,
        authority: SharedAuthority,
        directory: Arc<SandboxDirectory>,
    ) -> Arc<Self> {
        let sandboxes = Arc::new(Self {
            template: template(stack),
            limit: stack.max_sandboxes,
            clock: Clock::system(),
            authority,
            directory,
            registry: Mutex::default(),
            last_learner: AtomicUsize::default(),
            changed: Arc::default(),
        });
        tokio::spawn(reap(Arc::downgrade(&sandboxes), sandboxes.changed.clone()));
        sandboxes
    }

    /// Starts a sandbox beside the stack whose control address is at `stack_control`.
    pub(crate) async fn start(
        self: &Arc<Self>,
        plan: SandboxPlan,
        stack_control: String,
    ) -> Result<SandboxInfo, ControlError> {
        let slot = self.reserve()?;
        // In a task of its own: when a client goes away while its sandbox starts, the
        // sandbox is still registered, and ends after its lifetime.
        let launch = tokio::spawn(slot.launch(plan, stack_control));
        match launch.await {
            Ok(started) => started,
            Err(_) => Err(no_room("a server failed")),
        }
    }

    /// The running sandboxes, oldest first.
    pub(crate) fn list(&self) -> Vec<SandboxInfo> {
        let registry = self.registry();
        let running = registry.running.iter();
        running.map(|(id, it)| it.info(*id)).collect()
    }

    /// The running sandbox with this id.
    pub(crate) fn find(&self, id: SandboxId) -> Option<SandboxInfo> {
        self.registry().running.get(&id).map(|it| it.info(id))
    }

    /// Whether there was a sandbox with this id.
    pub(crate) fn has_ended(&self, id: SandboxId) -> bool {
        let registry = self.registry();
        let is_there = registry.running.contains_key(&id) || registry.starting.contains(&id);
        (1..=registry.last_number).contains(&id.0) && !is_there
    }

    /// Ends a sandbox; when this returns, its servers have stopped. False if there is none
    /// with this id.
    pub(crate) async fn end(&self, id: SandboxId) -> bool {
        let Some(sandbox) = self.registry().running.remove(&id) else {
            return false;
        };
        self.directory.remove(id);
        sandbox.stack.stop().await;
        true
    }

    /// Ends all sandboxes.
    pub(crate) async fn end_all(&self) {
        let all: Vec<_> = self.registry().running.keys().copied().collect();
        for id in all {
            self.end(id).await;
        }
    }

    /// The sandboxes whose lifetime is over.
    fn overdue(&self) -> Vec<SandboxId> {
        let now = self.clock.now();
        let registry = self.registry();
        let overdue = registry.running.iter();
        let overdue = overdue.filter(|(_, it)| it.activity.ends_at() <= now);
        overdue.map(|(id, _)| *id).collect()
    }

    /// The time until the next sandbox may end; `None` without sandboxes.
    fn next_end(&self) -> Option<Duration> {
        let now = self.clock.now();
        let registry = self.registry();
        let ends = registry.running.values().map(|it| it.activity.ends_at());
        let left_ms = ends.min()?.0.saturating_sub(now.0);
        Some(Duration::from_millis(left_ms.try_into().unwrap_or(0)))
    }

    fn reserve(self: &Arc<Self>) -> Result<Slot, ControlError> {
        let mut registry = self.registry();
        if registry.running.len() + registry.starting.len() >= self.limit {
            return Err(ControlError::too_many(format_args!(
                "{} sandboxes run, which is the limit: delete one with DELETE \
                 /api/sandboxes/ID, or start the stack with a larger --max-sandboxes",
                self.limit
            )));
        }
        registry.last_number += 1;
        let id = SandboxId(registry.last_number);
        registry.starting.insert(id);
        Ok(Slot {
            id,
            sandboxes: self.clone(),
        })
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sandboxes {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

/// The place of a sandbox that is starting.
struct Slot {
    id: SandboxId,
    sandboxes: Arc<Sandboxes>,
}

impl Slot {
    async fn launch(
        self,
        plan: SandboxPlan,
        stack_control: String,
    ) -> Result<SandboxInfo, ControlError> {
        let sandboxes = &self.sandboxes;
        let name = plan.name.unwrap_or_else(|| self.id.to_string());
        let activity = Arc::new(Activity::new(sandboxes.clock.clone(), plan.lifetime));
        let tls = plan.settings.https.then(|| sandboxes.authority.get());
        let launch = Launch {
            settings: &plan.settings,
            tls: tls.transpose().map_err(not_started)?,
            projects: plan.projects,
            has_demo: plan.has_demo,
            directory: sandboxes.directory.clone(),
            own_sandbox: Some(OwnSandbox {
                id: self.id,
                name: name.clone(),
                stack_control,
            }),
            extend_control: &|server| activity::attach(server, activity.clone()),
        };
        let stack = launch.start().await.map_err(not_started)?;
        let link = SandboxLink {
            name: name.clone(),
            control: stack.runtime.urls.control.clone(),
        };
        sandboxes.directory.add(self.id, link);
        let sandbox = Sandbox {
            name,
            learner: plan.learner,
            activity,
            stack,
        };
        let info = sandbox.info(self.id);
        sandboxes.registry().running.insert(self.id, sandbox);
        sandboxes.changed.notify_one();
        Ok(info)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.sandboxes.registry().starting.remove(&self.id);
    }
}

/// A sandbox, as the control address describes it.
#[derive(Debug, Serialize)]
pub(crate) struct SandboxInfo {
    id: SandboxId,
    name: String,
    #[serde(flatten)]
    urls: ServerUrls,
    projects: Vec<ProjectCredentials>,
    /// The certificate authority to trust, if the sandbox has TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_file: Option<PathBuf>,
    /// Unix seconds.
    ends_at: i64,
}

impl Sandbox {
    /// The description of this sandbox, with its id.
    fn info(&self, id: SandboxId) -> SandboxInfo {
        let runtime = &self.stack.runtime;
        SandboxInfo {
            id,
            name: self.name.clone(),
            urls: runtime.urls.clone(),
            projects: runtime.projects.list(),
            ca_file: runtime.reach.ca_file().map(Path::to_owned),
            ends_at: self.activity.ends_at().0.div_euclid(1000),
        }
    }
}

/// Ends the sandboxes whose lifetime is over, as long as there are `sandboxes`.
#[expect(
    clippy::disallowed_methods,
    reason = "a sandbox ends by the system's time, which no test moves"
)]
async fn reap(sandboxes: Weak<Sandboxes>, changed: Arc<Notify>) {
    loop {
        let Some(next_end) = end_overdue(&sandboxes).await else {
            return;
        };
        tokio::select! {
            () = tokio::time::sleep(next_end) => {}
            () = changed.notified() => {}
        }
    }
}

/// Ends the sandboxes whose lifetime is over. Returns the time until the next one may be;
/// `None` if there will be no more sandboxes.
async fn end_overdue(sandboxes: &Weak<Sandboxes>) -> Option<Duration> {
    let sandboxes = sandboxes.upgrade()?;
    for id in sandboxes.overdue() {
        if sandboxes.end(id).await {
            tracing::info!(
                sandbox = %id,
                "a sandbox has ended: its control address was not called for its ttl_seconds"
            );
        }
    }
    Some(sandboxes.next_end().unwrap_or(Duration::MAX))
}

/// The refusal of a sandbox that does not start.
fn not_started(error: StackStartError) -> ControlError {
    match error {
        // A sandbox takes any free port, so no flag would help.
        StackStartError::Listen { server, source, .. } => {
            no_room(format_args!("{server}: {source}"))
        }
        error @ StackStartError::CaFile { .. } => {
            ControlError::internal(format_args!("the sandbox does not start: {error}"))
        }
        other => no_room(other),
    }
}

fn no_room(reason: impl Display) -> ControlError {
    ControlError::unavailable(format_args!(
        "this machine has no room for another sandbox ({reason}): delete one with \
         DELETE /api/sandboxes/ID, or raise the limit on open files (ulimit -n)"
    ))
}

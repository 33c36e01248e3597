//! The projects of the stack. The broker keeps only digests of their secrets; a test
//! needs the secrets themselves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use broker::projects::{Project, ProjectName, Projects};
use broker::relay::RelayGuard;
use contract::{ClientId, ClientSecret, DEVELOPMENT_SECRET, Digest, Origin, RedirectUri};
use serde::Serialize;

/// A project with the secret that the broker keeps only a digest of.
#[derive(Debug, Clone, Serialize)]
pub struct ProjectCredentials {
    /// The name that users see.
    pub name: ProjectName,
    /// The public id.
    pub client_id: ClientId,
    /// The secret, for development on this machine.
    pub client_secret: ClientSecret,
    /// The registered callbacks.
    pub redirect_uris: Vec<RedirectUri>,
}

/// No project has the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no project has this id; GET /api/projects lists them")]
pub struct UnknownProject;

/// The broker's protection of a project against relayed sign-ins.
#[derive(Debug, Clone, Default)]
pub struct RelayPolicy {
    /// The cases in which a user must confirm the sign-in.
    pub relay_guard: RelayGuard,
    /// The origins of its sign-in pages, if they are not the callbacks' origins.
    pub start_origins: Option<Vec<Origin>>,
}

/// The machines that can reach a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReachedFrom {
    /// Only its own: every address is loopback.
    ThisMachine,
    /// Others, too.
    Network,
}

/// All projects of a stack, in the order of their registration.
#[derive(Debug, Default)]
pub struct ProjectRegistry {
    /// Each with the relay guard that it was registered with.
    registered: Mutex<Vec<(ProjectCredentials, RelayGuard)>>,
    at_broker: Projects,
}

impl ProjectRegistry {
    /// The same projects, as the broker looks them up.
    pub(crate) fn at_broker(&self) -> Projects {
        self.at_broker.clone()
    }

    /// Every project, oldest first.
    pub fn list(&self) -> Vec<ProjectCredentials> {
        let all = self.registered();
        all.iter().map(|(project, _)| project.clone()).collect()
    }

    /// The demo's project, or the first where there is no demo.
    pub(crate) fn demo_or_first(&self) -> Option<ProjectCredentials> {
        let all = self.list();
        let mut demos = all.iter().filter(|it| it.client_id.as_str() == "demo");
        demos.next().or(all.first()).cloned()
    }

    /// The id of the project that is registered as `client_id`.
    ///
    /// # Errors
    ///
    /// If no project is.
    pub fn find(&self, client_id: &str) -> Result<ClientId, UnknownProject> {
        let all = self.registered();
        let mut ids = all.iter().map(|(project, _)| &project.client_id);
        let known = ids.find(|id| id.as_str() == client_id);
        known.cloned().ok_or(UnknownProject)
    }

    /// Registers a project with a new id and a new secret.
    pub fn register(
        &self,
        name: ProjectName,
        redirect_uris: Vec<RedirectUri>,
    ) -> ProjectCredentials {
        self.register_with_policy(name, redirect_uris, RelayPolicy::default())
    }

    /// Registers a project with a relay policy of its own.
    pub fn register_with_policy(
        &self,
        name: ProjectName,
        redirect_uris: Vec<RedirectUri>,
        policy: RelayPolicy,
    ) -> ProjectCredentials {
        let mut id = Digest::from_bytes(broker::random::bytes32()).to_text();
        id.truncate(22);
        let client_id = format!("prj_{id}")
            .parse()
            .expect("26 characters are an id");
        let client_secret = ClientSecret::from_random(&broker::random::bytes32());
        let credentials = ProjectCredentials {
            name,
            client_id,
            client_secret,
            redirect_uris,
        };
        self.add(credentials, policy)
    }

    /// Adds a callback to a registered project, for the broker's next call on. One that it
    /// has stays as it is.
    ///
    /// # Errors
    ///
    /// If no project has the id.
    pub fn allow_callback(
        &self,
        client_id: &ClientId,
        redirect_uri: RedirectUri,
    ) -> Result<ProjectCredentials, UnknownProject> {
        let mut all = self.registered();
        let mut projects = all.iter_mut().map(|(project, _)| project);
        let credentials = projects.find(|it| it.client_id == *client_id);
        let credentials = credentials.ok_or(UnknownProject)?;
        if !credentials.redirect_uris.contains(&redirect_uri) {
            credentials.redirect_uris.push(redirect_uri);
            let known = self.at_broker.find(client_id).ok_or(UnknownProject)?;
            self.at_broker.register(Project {
                redirect_uris: credentials.redirect_uris.clone(),
                ..Project::clone(&known)
            });
        }
        Ok(credentials.clone())
    }

    /// The relay guard of a registered project.
    pub(crate) fn relay_guard(&self, client_id: &ClientId) -> Option<RelayGuard> {
        let project = self.at_broker.find(client_id)?;
        Some(project.relay_guard)
    }

    /// Changes the relay guard of a registered project, for the broker's next call on, until
    /// the stack is reset.
    ///
    /// # Errors
    ///
    /// If no project has the id.
    pub(crate) fn set_relay_guard(
        &self,
        client_id: &ClientId,
        relay_guard: RelayGuard,
    ) -> Result<(), UnknownProject> {
        // As long as it is held, no callback is added to the project.
        let _registered = self.registered();
        let known = self.at_broker.find(client_id).ok_or(UnknownProject)?;
        self.at_broker.register(guarded(&known, relay_guard));
        Ok(())
    }

    /// Gives every project the relay guard that it was registered with.
    pub(crate) fn restore_relay_guards(&self) {
        for (project, relay_guard) in self.registered().iter() {
            if let Some(known) = self.at_broker.find(&project.client_id) {
                self.at_broker.register(guarded(&known, *relay_guard));
            }
        }
    }

    /// Registers a project with a known id and, on this machine, the development secret,
    /// so that an app's settings need not change from one start to the next.
    pub(crate) fn register_for_development(
        &self,
        name: &str,
        client_id: &str,
        redirect_uris: Vec<RedirectUri>,
        reached_from: ReachedFrom,
    ) -> ProjectCredentials {
        let client_secret = match reached_from {
            ReachedFrom::ThisMachine => {
                DEVELOPMENT_SECRET.parse().expect("it is a secret's length")
            }
            ReachedFrom::Network => ClientSecret::from_random(&broker::random::bytes32()),
        };
        let credentials = ProjectCredentials {
            name: name.parse().expect("a constant of ours is a name"),
            client_id: client_id.parse().expect("a constant of ours is an id"),
            client_secret,
            redirect_uris,
        };
        self.add(credentials, RelayPolicy::default())
    }

    fn add(&self, credentials: ProjectCredentials, policy: RelayPolicy) -> ProjectCredentials {
        let project = Project::new(
            credentials.name.clone(),
            credentials.client_id.clone(),
            credentials.client_secret.digest(),
            credentials.redirect_uris.clone(),
        );
        self.at_broker.register(Project {
            relay_guard: policy.relay_guard,
            start_origins: policy.start_origins,
            ..project
        });
        let mut all = self.registered();
        all.retain(|(other, _)| other.client_id != credentials.client_id);
        all.push((credentials.clone(), policy.relay_guard));
        credentials
    }

    fn registered(&self) -> MutexGuard<'_, Vec<(ProjectCredentials, RelayGuard)>> {
        self.registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same project with another relay guard.
fn guarded(project: &Project, relay_guard: RelayGuard) -> Project {
    Project {
        relay_guard,
        ..project.clone()
    }
}

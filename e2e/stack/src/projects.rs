//! The projects of the stack. The broker knows digests; whoever tests against it
//! needs the secrets too.

use std::sync::{Mutex, MutexGuard, PoisonError};

use broker::projects::{Project, ProjectName, Projects};
use broker::relay::RelayGuard;
use contract::{ClientId, ClientSecret, DEVELOPMENT_SECRET, Digest, Origin, RedirectUri};
use serde::Serialize;

/// A project with the secret that the broker keeps only a digest of.
#[derive(Debug, Clone, Serialize)]
pub struct Credentials {
    /// What people know it by.
    pub name: ProjectName,
    /// What it calls itself.
    pub client_id: ClientId,
    /// Its secret: for development on this machine.
    pub client_secret: ClientSecret,
    /// Where its browsers come back to.
    pub redirect_uris: Vec<RedirectUri>,
}

/// How the broker guards a project against relayed sign-ins.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// When its visitors are asked.
    pub relay_guard: RelayGuard,
    /// Where its sign-ins start, if not on its callbacks' origins.
    pub start_origins: Option<Vec<Origin>>,
}

/// All projects of a stack, in the order of their registration. They survive a
/// reset.
#[derive(Debug, Default)]
pub struct Registry {
    known: Mutex<Vec<Credentials>>,
    at_broker: Projects,
}

impl Registry {
    /// What the broker asks.
    pub(crate) fn at_broker(&self) -> Projects {
        self.at_broker.clone()
    }

    /// Every project, oldest first.
    pub fn list(&self) -> Vec<Credentials> {
        self.known().clone()
    }

    /// Registers a project with a new id and a new secret.
    pub fn register(&self, name: ProjectName, redirect_uris: Vec<RedirectUri>) -> Credentials {
        self.register_guarded(name, redirect_uris, Guard::default())
    }

    /// The same, guarded otherwise than is usual.
    pub fn register_guarded(
        &self,
        name: ProjectName,
        redirect_uris: Vec<RedirectUri>,
        guard: Guard,
    ) -> Credentials {
        let mut id = Digest::from_bytes(broker::random::bytes32()).to_text();
        id.truncate(22);
        let client_id = format!("prj_{id}")
            .parse()
            .expect("26 characters are an id");
        let client_secret = ClientSecret::from_random(&broker::random::bytes32());
        let credentials = Credentials {
            name,
            client_id,
            client_secret,
            redirect_uris,
        };
        self.add(credentials, guard)
    }

    /// Registers a project with a known id and the development secret, so that
    /// an app's settings need not change from one start to the next.
    pub(crate) fn register_for_development(
        &self,
        name: &str,
        client_id: &str,
        redirect_uris: Vec<RedirectUri>,
    ) -> Credentials {
        let credentials = Credentials {
            name: name.parse().expect("a constant of ours is a name"),
            client_id: client_id.parse().expect("a constant of ours is an id"),
            client_secret: DEVELOPMENT_SECRET.parse().expect("it is a secret's length"),
            redirect_uris,
        };
        self.add(credentials, Guard::default())
    }

    fn add(&self, credentials: Credentials, guard: Guard) -> Credentials {
        let project = Project::new(
            credentials.name.clone(),
            credentials.client_id.clone(),
            credentials.client_secret.digest(),
            credentials.redirect_uris.clone(),
        );
        self.at_broker.register(Project {
            relay_guard: guard.relay_guard,
            start_origins: guard.start_origins,
            ..project
        });
        let mut known = self.known();
        known.retain(|other| other.client_id != credentials.client_id);
        known.push(credentials.clone());
        credentials
    }

    fn known(&self) -> MutexGuard<'_, Vec<Credentials>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

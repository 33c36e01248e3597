//! The projects of the stack. The broker knows digests; whoever tests against it
//! needs the secrets too.

use std::sync::{Mutex, MutexGuard, PoisonError};

use broker::projects::{Project, Projects};
use contract::{ClientId, ClientSecret, DEVELOPMENT_SECRET, Digest, RedirectUri};
use serde::Serialize;

/// A project with the secret that the broker keeps only a digest of.
#[derive(Debug, Clone, Serialize)]
pub struct Credentials {
    /// What people know it by.
    pub name: String,
    /// What it calls itself.
    pub client_id: ClientId,
    /// Its secret: for development on this machine.
    pub client_secret: ClientSecret,
    /// Where its browsers come back to.
    pub redirect_uris: Vec<RedirectUri>,
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
    pub fn register(&self, name: String, redirect_uris: Vec<RedirectUri>) -> Credentials {
        let mut id = Digest::from_bytes(broker::random::bytes32()).to_text();
        id.truncate(22);
        let client_id = format!("prj_{id}")
            .parse()
            .expect("26 characters are an id");
        let client_secret = ClientSecret::from_random(&broker::random::bytes32());
        self.add(Credentials {
            name,
            client_id,
            client_secret,
            redirect_uris,
        })
    }

    /// Registers a project with a known id and the development secret, so that
    /// an app's settings need not change from one start to the next.
    pub(crate) fn register_for_development(
        &self,
        name: &str,
        client_id: &str,
        redirect_uris: Vec<RedirectUri>,
    ) -> Credentials {
        self.add(Credentials {
            name: name.to_owned(),
            client_id: client_id.parse().expect("a constant of ours is an id"),
            client_secret: DEVELOPMENT_SECRET.parse().expect("it is a secret's length"),
            redirect_uris,
        })
    }

    fn add(&self, credentials: Credentials) -> Credentials {
        self.at_broker.register(Project {
            name: credentials.name.clone(),
            client_id: credentials.client_id.clone(),
            client_secret_sha256: credentials.client_secret.digest(),
            redirect_uris: credentials.redirect_uris.clone(),
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

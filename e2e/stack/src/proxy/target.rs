//! The address of the current broker.

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

/// The address of the current broker. Clones change together.
#[derive(Debug, Clone)]
pub(super) struct Target(Arc<RwLock<SocketAddr>>);

impl Target {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self(Arc::new(RwLock::new(address)))
    }

    pub(super) fn get(&self) -> SocketAddr {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, address: SocketAddr) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = address;
    }
}

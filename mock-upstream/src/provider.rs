//! The parts that both providers share: the context of a running provider, the sign-in
//! page, the stores of codes and tokens, PKCE, and the misbehaviours of a token endpoint.

mod account_form;
mod context;
mod controls;
pub(crate) mod corrupt;
mod expiring_store;
mod heap_size;
pub(crate) mod pages;
mod pkce;
mod remembered;
pub(crate) mod sign_in;

pub(crate) use context::{ProviderContext, SharedSettings};
pub(crate) use expiring_store::ExpiringStore;
pub(crate) use heap_size::HeapSize;
pub(crate) use pkce::Challenge;

use crate::http::{Request, Response};

/// The endpoints of one provider, with the codes and tokens that they issued.
pub(crate) trait Endpoints: Send + Sync {
    /// Responds to one request without waiting.
    fn respond(&self, request: &Request) -> Response;

    /// The URLs that a client is configured with, by what they are.
    fn urls(&self) -> Vec<(&'static str, String)>;

    /// The bytes that pending sign-ins, codes and tokens take.
    fn bytes_held(&self) -> usize;

    /// Forgets pending sign-ins, codes and tokens.
    fn reset(&self);
}

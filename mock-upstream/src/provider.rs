//! The parts that both providers share: the context of a running provider, the sign-in
//! page, the stores of codes and tokens, PKCE, the methods of a path, and the
//! misbehaviours of a token endpoint.

mod account_form;
mod context;
mod controls;
pub(crate) mod corrupt;
mod expiring_store;
mod heap_size;
pub(crate) mod pages;
mod pkce;
mod remembered;
pub(crate) mod routes;
pub(crate) mod sign_in;

pub(crate) use context::{ProviderContext, SharedSettings};
pub(crate) use expiring_store::ExpiringStore;
pub(crate) use heap_size::HeapSize;
pub(crate) use pkce::Challenge;
pub(crate) use routes::Route;

use crate::google::IdTokenReport;
use crate::http::{Request, Response};

/// The endpoints of one provider, with the codes and tokens that they issued.
pub(crate) trait Endpoints: Send + Sync {
    /// Responds to one request without waiting.
    fn respond(&self, request: &Request) -> Response;

    /// The report on an ID token for this recipient; `None` of a provider that issues none.
    fn id_token_report(&self, _token: &str, _recipient: &Recipient<'_>) -> Option<IdTokenReport> {
        None
    }

    /// The URLs that a client is configured with, by what they are.
    fn urls(&self) -> Vec<(&'static str, String)>;

    /// The bytes that pending sign-ins, codes and tokens take.
    fn bytes_held(&self) -> usize;

    /// Forgets pending sign-ins, codes and tokens.
    fn reset(&self);
}

/// The client that gets an ID token, and what came with the token or asked for it.
pub(crate) struct Recipient<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) nonce: Option<&'a str>,
    pub(crate) access_token: Option<&'a str>,
}

//! The context of a running provider.

use std::sync::OnceLock;

use super::controls::Controls;
use crate::backend_calls::BackendCalls;
use crate::http::{Request, Response};
use crate::journal::{self, Journal};
use crate::settings::ProviderSettings;
use crate::users::KnownUsers;
use crate::{Clients, Clock, Iss, Labels, Misbehaviour, Provider, Unconfirmed};

/// The fixed settings of one provider, its controls and its journal; shared by its
/// endpoints and its handle.
pub(crate) struct ProviderContext {
    pub(crate) provider: Provider,
    /// The base URL, without a trailing slash.
    pub(crate) url: String,
    pub(crate) clients: Clients,
    clock: Clock,
    pub(crate) hourly_calls: Option<u32>,
    pub(crate) unconfirmed: Unconfirmed,
    pub(crate) users: KnownUsers,
    pub(crate) labels: Labels,
    pub(crate) controls: Controls,
    pub(crate) journal: Journal,
    pub(crate) backend_calls: BackendCalls,
    app_url: OnceLock<String>,
}

/// The settings that both providers share.
#[derive(Clone)]
pub(crate) struct SharedSettings {
    pub(crate) clock: Clock,
    pub(crate) users: KnownUsers,
    pub(crate) labels: Labels,
}

impl ProviderContext {
    pub(crate) fn new(
        provider: Provider,
        url: String,
        settings: ProviderSettings,
        shared: SharedSettings,
    ) -> Self {
        Self {
            provider,
            url,
            controls: Controls::new(&settings),
            clients: settings.clients,
            clock: shared.clock,
            users: shared.users,
            labels: shared.labels,
            hourly_calls: settings.hourly_calls,
            unconfirmed: settings.unconfirmed,
            journal: Journal::new(),
            backend_calls: BackendCalls::default(),
            app_url: OnceLock::new(),
        }
    }

    /// The URL to which pages that are over lead.
    pub(crate) fn app_url(&self) -> Option<&str> {
        self.app_url.get().map(String::as_str)
    }

    /// Sets that URL, unless it is set.
    pub(crate) fn set_app_url(&self, url: &str) {
        self.app_url.get_or_init(|| url.to_owned());
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Adds a request and its response to the journal.
    pub(crate) fn record(&self, request: &Request, response: &Response) {
        self.journal.record(journal::Entry {
            at: self.now_ms(),
            method: journal::truncated(request.method()),
            path: journal::truncated(request.path()),
            query: journal::masked(request.raw_query()),
            status: response.visible_status(),
        });
    }

    /// The `iss` of a successful callback: `issuer`, another issuer, or none.
    pub(crate) fn iss_of_success<'a>(
        &self,
        issuer: &'a str,
        misbehaviour: Option<Misbehaviour>,
    ) -> Option<&'a str> {
        match (misbehaviour, self.controls.iss()) {
            (Some(Misbehaviour::WrongCallbackIssuer), _) => Some("https://issuer.example"),
            (_, Iss::On | Iss::Errors) => Some(issuer),
            (_, Iss::Off) => None,
        }
    }

    /// The `iss` of a callback with an error: `issuer` or none.
    pub(crate) fn iss_of_error<'a>(&self, issuer: &'a str) -> Option<&'a str> {
        self.iss_is_in_every_callback().then_some(issuer)
    }

    /// Whether metadata may announce `iss`: RFC 9207 promises it for errors, too.
    pub(crate) fn iss_is_in_every_callback(&self) -> bool {
        self.controls.iss() == Iss::Errors
    }
}

//! What a provider's handle and its dialect share.

use crate::journal::Journal;
use crate::script::{Iss, Script, Switches};
use crate::settings::Site;
use crate::{Client, Clock, Misbehaviour, Provider, Unconfirmed};

/// One provider's fixed facts, its script and its journal.
pub(crate) struct Desk {
    pub(crate) provider: Provider,
    /// Without a trailing slash.
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) hourly_calls: Option<u32>,
    pub(crate) unconfirmed: Unconfirmed,
    pub(crate) script: Script,
    pub(crate) journal: Journal,
}

impl Desk {
    pub(crate) fn new(provider: Provider, url: String, site: Site, clock: Clock) -> Self {
        Self {
            provider,
            url,
            client: site.client,
            clock,
            hourly_calls: site.hourly_calls,
            unconfirmed: site.unconfirmed,
            script: Script::new(Switches {
                mode: site.mode,
                iss: site.iss,
            }),
            journal: Journal::new(),
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// The `iss` that a success carries: `issuer`, none, or somebody else.
    pub(crate) fn iss_of_success<'a>(
        &self,
        issuer: &'a str,
        misbehaviour: Option<Misbehaviour>,
    ) -> Option<&'a str> {
        match (misbehaviour, self.script.iss()) {
            (Some(Misbehaviour::WrongCallbackIssuer), _) => Some("https://issuer.example"),
            (_, Iss::On | Iss::Errors) => Some(issuer),
            (_, Iss::Off) => None,
        }
    }

    /// Whether metadata may announce `iss`: RFC 9207 promises it for errors, too.
    pub(crate) fn iss_is_in_every_answer(&self) -> bool {
        self.script.iss() == Iss::Errors
    }

    /// `issuer`, if an error carries it.
    pub(crate) fn iss_on_error<'a>(&self, issuer: &'a str) -> Option<&'a str> {
        match self.script.iss() {
            Iss::Errors => Some(issuer),
            Iss::On | Iss::Off => None,
        }
    }
}

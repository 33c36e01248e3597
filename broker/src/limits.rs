//! What is bounded, so that one caller cannot take what all others need.

mod frequency;

use std::net::IpAddr;

use contract::{Digest, Rule};

use crate::clock::Clock;
use crate::config::LimitsConfig;
use frequency::Frequency;

/// Somebody who is to come again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Later {
    /// The rule that says so.
    pub(crate) rule: Rule,
    /// When to come again.
    pub(crate) in_seconds: u64,
}

/// All that is bounded. Each broker counts for itself.
#[derive(Debug)]
pub(crate) struct Limits {
    wrong_secrets: Frequency<([u8; 32], Option<IpAddr>)>,
    callbacks: Frequency<IpAddr>,
    /// When the log last said that secrets are being tried.
    alarms: Frequency<Rule>,
}

impl Limits {
    pub(crate) fn new(config: &LimitsConfig, clock: &Clock) -> Self {
        Self {
            wrong_secrets: Frequency::per_minute(config.wrong_secrets_per_minute, clock),
            callbacks: Frequency::per_minute(config.callbacks_per_minute, clock),
            alarms: Frequency::per_minute(std::num::NonZeroU32::MIN, clock),
        }
    }

    /// Counts wrong credentials for `client_id` from `source`, which may be
    /// unknown. The digest is counted: whoever guesses chooses the text.
    pub(crate) fn wrong_secret(
        &self,
        client_id: &str,
        source: Option<IpAddr>,
    ) -> Result<(), Later> {
        let rule = Rule::ClientTries;
        let who = (*Digest::of(client_id.as_bytes()).as_bytes(), source);
        self.wrong_secrets.count(&who).map_err(|in_seconds| {
            if self.may_sound(rule) {
                tracing::error!(
                    source = source.map(tracing::field::display),
                    "wrong secrets come too often and are answered 429, without a line for each: \
                     a backend has an old secret, or somebody guesses"
                );
            }
            Later { rule, in_seconds }
        })
    }

    /// Counts a browser that comes back from a provider. One from nowhere known is
    /// let in: all of them may come through one proxy.
    pub(crate) fn callback(&self, source: Option<IpAddr>) -> Result<(), Later> {
        let rule = Rule::TripCrowd;
        let Some(source) = source else { return Ok(()) };
        self.callbacks.count(&source).map_err(|in_seconds| {
            if self.may_sound(rule) {
                tracing::error!(
                    %source,
                    "more browsers come back from one address than limits.callbacks_per_minute, \
                     and are answered 429: if that is your proxy's address, set ip_header"
                );
            }
            Later { rule, in_seconds }
        })
    }

    /// Whether the log may speak of `rule` again: once a minute.
    fn may_sound(&self, rule: Rule) -> bool {
        self.alarms.count(&rule).is_ok()
    }
}

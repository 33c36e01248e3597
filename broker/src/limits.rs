//! What is bounded, so that one caller cannot take what all others need.

mod frequency;
mod sessions;

use std::net::IpAddr;
use std::time::Duration;

use contract::{ClientId, Digest, Rule};

use crate::clock::Clock;
use crate::config::LimitsConfig;
use crate::model::UnixMs;
use crate::relay::Provenance;
use frequency::Frequency;
use sessions::Sessions;

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryAfter {
    pub(crate) rule: Rule,
    /// The time after which the caller may try again.
    pub(crate) seconds: u64,
}

/// All that is bounded. Each broker counts for itself.
#[derive(Debug)]
pub(crate) struct Limits {
    wrong_secrets: Frequency<([u8; 32], Option<IpAddr>)>,
    callbacks: Frequency<IpAddr>,
    elsewhere: Frequency<ClientId>,
    sessions: Sessions,
    /// How long a body may take to come.
    pub(crate) body_timeout: Duration,
    /// When the log last spoke of each rule.
    alarms: Frequency<Rule>,
}

impl Limits {
    pub(crate) fn new(config: &LimitsConfig, clock: &Clock) -> Self {
        Self {
            wrong_secrets: Frequency::per_minute(config.wrong_secrets_per_minute, clock),
            callbacks: Frequency::per_minute(config.callbacks_per_minute, clock),
            elsewhere: Frequency::per_minute(config.visits_from_elsewhere_per_minute, clock),
            sessions: Sessions::at_most(config.live_sessions),
            body_timeout: Duration::from_millis(config.body_timeout_ms.get().into()),
            alarms: Frequency::per_minute(std::num::NonZeroU32::MIN, clock),
        }
    }

    /// Counts wrong credentials for `client_id` from `source`, which may be
    /// unknown. The digest is counted: whoever guesses chooses the text.
    pub(crate) fn wrong_secret(
        &self,
        client_id: &str,
        source: Option<IpAddr>,
    ) -> Result<(), RetryAfter> {
        let rule = Rule::ClientRateLimit;
        let who = (*Digest::of(client_id.as_bytes()).as_bytes(), source);
        self.wrong_secrets.count(&who).map_err(|seconds| {
            if self.may_sound(rule) {
                tracing::error!(
                    source = source.map(tracing::field::display),
                    "wrong secrets come too often and are answered 429, without a line for each: \
                     a backend has an old secret, or somebody guesses"
                );
            }
            RetryAfter { rule, seconds }
        })
    }

    /// Counts a browser that comes back from a provider. One from nowhere known is
    /// let in: all of them may come through one proxy.
    pub(crate) fn callback(&self, source: Option<IpAddr>) -> Result<(), RetryAfter> {
        let rule = Rule::UpstreamLoginRateLimit;
        let Some(source) = source else { return Ok(()) };
        self.callbacks.count(&source).map_err(|seconds| {
            if self.may_sound(rule) {
                tracing::error!(
                    %source,
                    "more browsers come back from one address than limits.callbacks_per_minute, \
                     and are answered 429: if that is your proxy's address, set ip_header"
                );
            }
            RetryAfter { rule, seconds }
        })
    }

    /// Counts a visit of one of `project`'s authorization URLs, and sounds the alarm
    /// when many of them begin elsewhere: somebody may be sending them to people.
    pub(crate) fn visit(&self, project: &ClientId, provenance: Provenance) {
        let is_usual = !provenance.is_elsewhere() || self.elsewhere.count(project).is_ok();
        if !is_usual && self.may_sound(Rule::RelayStartOrigin) {
            tracing::error!(
                project = project.as_str(),
                provenance = provenance.as_str(),
                "more sign-ins begin elsewhere than on the project's pages than \
                 limits.visits_from_elsewhere_per_minute: somebody may be sending \
                 authorization URLs to people; or its pages hide where they are \
                 (Referrer-Policy), or are not among its start_origins"
            );
        }
    }

    /// Counts a login session that `project` begins. Returns what
    /// [`not_begun`](Self::not_begun) asks for.
    pub(crate) fn session(&self, project: &ClientId, now: UnixMs) -> Result<UnixMs, RetryAfter> {
        let rule = Rule::SessionQuota;
        self.sessions.count(project, now).map_err(|seconds| {
            if self.may_sound(rule) {
                tracing::error!(
                    project = project.as_str(),
                    "a project has as many login sessions as limits.live_sessions allows, and \
                     more are answered 429: look who makes its backend start them"
                );
            }
            RetryAfter { rule, seconds }
        })
    }

    /// Takes back a session that was counted and did not begin.
    pub(crate) fn not_begun(&self, project: &ClientId, counted: UnixMs) {
        self.sessions.uncount(project, counted);
    }

    /// Whether the log may speak of `rule` again: once a minute.
    fn may_sound(&self, rule: Rule) -> bool {
        self.alarms.count(&rule).is_ok()
    }
}

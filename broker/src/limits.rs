//! The rate limits and quotas that keep one caller from taking the share of all others,
//! and the limit of what the broker takes from all of them.

mod overload;
mod quota;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use contract::{ClientId, Digest, Rule};

use crate::clock::Clock;
use crate::config::LimitsConfig;
use crate::model::UnixMs;
use crate::relay::Provenance;
use quota::{RateLimit, SessionQuota};

pub(crate) use overload::Overload;
pub(crate) use quota::Counted;

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryAfter {
    pub(crate) rule: Rule,
    /// The time after which the caller may try again.
    pub(crate) seconds: u64,
}

/// The limits of one broker. Each replica counts for itself.
pub(crate) struct Limits {
    wrong_secrets: RateLimit<([u8; 32], Option<IpAddr>)>,
    callbacks: RateLimit<IpAddr>,
    visits_from_elsewhere: RateLimit<ClientId>,
    sessions: SessionQuota,
    pub(crate) overload: Arc<Overload>,
    /// The time limit for reading a body.
    pub(crate) body_timeout: Duration,
    /// The alarms in the log: one a minute for each rule.
    alarms: RateLimit<Rule>,
}

/// The time after which a login that was refused by an overload may begin.
const OVERLOAD_SECONDS: u64 = 5;

impl Limits {
    pub(crate) fn new(config: &LimitsConfig, clock: &Clock) -> Self {
        Self {
            wrong_secrets: RateLimit::per_minute(config.wrong_secrets_per_minute, clock),
            callbacks: RateLimit::per_minute(config.callbacks_per_minute, clock),
            visits_from_elsewhere: RateLimit::per_minute(
                config.visits_from_elsewhere_per_minute,
                clock,
            ),
            sessions: SessionQuota::new(config.live_sessions),
            overload: Arc::new(Overload::new(config.overload_delay_ms)),
            body_timeout: Duration::from_millis(config.body_timeout_ms.get().into()),
            alarms: RateLimit::per_minute(std::num::NonZeroU32::MIN, clock),
        }
    }

    /// Admits a login that begins, unless the broker is overloaded.
    pub(crate) fn new_login(&self) -> Result<(), RetryAfter> {
        let rule = Rule::BrokerOverload;
        if !self.overload.refuses() {
            return Ok(());
        }
        if self.may_alarm(rule) {
            tracing::error!(
                "more logins arrive than this broker can serve within \
                 limits.overload_delay_ms, and new ones are answered 503: the database does \
                 not answer, or the broker needs a faster processor, disk or database, or \
                 another broker beside it"
            );
        }
        let seconds = OVERLOAD_SECONDS;
        Err(RetryAfter { rule, seconds })
    }

    /// Counts wrong credentials for `client_id` from `client_addr`, which may be unknown.
    /// The digest is the key: an attacker chooses the text.
    pub(crate) fn wrong_secret(
        &self,
        client_id: &str,
        client_addr: Option<IpAddr>,
    ) -> Result<(), RetryAfter> {
        let rule = Rule::ClientRateLimit;
        let key = (*Digest::of(client_id.as_bytes()).as_bytes(), client_addr);
        self.wrong_secrets.count(&key).map_err(|seconds| {
            if self.may_alarm(rule) {
                tracing::error!(
                    source = client_addr.map(tracing::field::display),
                    "wrong secrets come too often and are answered 429, without a line for each: \
                     a backend has an old secret, or an attacker guesses"
                );
            }
            RetryAfter { rule, seconds }
        })
    }

    /// Counts a browser that comes back from a provider. One without a known address
    /// passes: all browsers may come through one proxy.
    pub(crate) fn callback(&self, client_addr: Option<IpAddr>) -> Result<(), RetryAfter> {
        let rule = Rule::UpstreamLoginRateLimit;
        let Some(client_addr) = client_addr else {
            return Ok(());
        };
        self.callbacks.count(&client_addr).map_err(|seconds| {
            if self.may_alarm(rule) {
                tracing::error!(
                    source = %client_addr,
                    "more browsers come back from one address than limits.callbacks_per_minute, \
                     and are answered 429: if that is your proxy's address, set ip_header"
                );
            }
            RetryAfter { rule, seconds }
        })
    }

    /// Counts a visit of one of `project`'s authorization URLs, and raises an alarm when
    /// many of them begin elsewhere: an attacker may be sending the URLs to victims.
    pub(crate) fn visit(&self, project: &ClientId, provenance: Provenance) {
        let is_usual =
            !provenance.is_elsewhere() || self.visits_from_elsewhere.count(project).is_ok();
        if !is_usual && self.may_alarm(Rule::RelayStartOrigin) {
            tracing::error!(
                project = project.as_str(),
                provenance = provenance.as_str(),
                "more sign-ins begin elsewhere than on the project's pages than \
                 limits.visits_from_elsewhere_per_minute: an attacker may be sending \
                 authorization URLs to victims; or its pages hide their address \
                 (Referrer-Policy), or are not among its start_origins"
            );
        }
    }

    /// Counts a login session that `project` opens. Returns the token that
    /// [`uncount_session`](Self::uncount_session) takes.
    pub(crate) fn count_session(
        &self,
        project: &ClientId,
        now: UnixMs,
    ) -> Result<Counted, RetryAfter> {
        let rule = Rule::SessionQuota;
        self.sessions.count(project, now).map_err(|seconds| {
            if self.may_alarm(rule) {
                tracing::error!(
                    project = project.as_str(),
                    "a project has as many login sessions as limits.live_sessions allows, and \
                     more are answered 429: find out who makes its backend start them"
                );
            }
            RetryAfter { rule, seconds }
        })
    }

    /// Takes back a session that was counted and then not opened.
    pub(crate) fn uncount_session(&self, project: &ClientId, counted: Counted) {
        self.sessions.uncount(project, counted);
    }

    /// Whether the log may have another alarm for `rule`: one a minute.
    fn may_alarm(&self, rule: Rule) -> bool {
        self.alarms.count(&rule).is_ok()
    }
}

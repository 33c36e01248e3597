//! The states that are one: those that give every later step the same answer.

use super::state::{
    CODE_LIFETIME_MS, GOOGLES_CODE_LIFETIME_MS, LOGIN_IS_KNOWN_MS, LOGIN_LIFETIME_MS,
    TOKEN_LIFETIME_MS, UPSTREAM_LOGIN_LIFETIME_MS,
};
use super::{
    Code, Commits, Ending, Interval, Login, Model, Progress, Purpose, SignedIn, Token,
    UpstreamLogin,
};

impl Model {
    /// The model as far as an answer from `now_ms` on depends on it: times count from then,
    /// what ended is one millisecond past its end, and the rest is forgotten.
    #[must_use]
    pub fn observable(&self, now_ms: i64) -> Self {
        let login = |(number, login): (&u8, &Login)| {
            let is_current = self.current(*number).is_some();
            (*number, login.observable(is_current, now_ms))
        };
        let upstream_login = |(number, it): (&u8, &UpstreamLogin)| (*number, it.observable(now_ms));
        Self {
            logins: self.logins.iter().map(login).collect(),
            upstream_logins: self.upstream_logins.iter().map(upstream_login).collect(),
            exchanges: 0,
            committed: Commits::default(),
        }
    }
}

impl Login {
    fn observable(&self, is_current: bool, now_ms: i64) -> Self {
        if !is_current {
            // It is not known any more.
            return Self::new(self.key, self.project, self.provider, Interval::exactly(0));
        }
        let opened = since(self.opened, now_ms, LOGIN_IS_KNOWN_MS);
        let is_over = opened.latest_ms <= -LOGIN_LIFETIME_MS;
        let may_be_bound = !is_over && self.progress == Progress::Pending;
        Self {
            opened,
            bound_to: self.bound_to.filter(|_| may_be_bound),
            ..self.clone()
        }
    }
}

impl UpstreamLogin {
    fn observable(&self, now_ms: i64) -> Self {
        let begun = self.ends.plus_ms(-UPSTREAM_LOGIN_LIFETIME_MS);
        let ends =
            since(begun, now_ms, UPSTREAM_LOGIN_LIFETIME_MS).plus_ms(UPSTREAM_LOGIN_LIFETIME_MS);
        let is_consumed = self.is_consumed || ends.latest_ms <= 0;
        let may_be_stale = self.may_be_stale(now_ms);
        let signed_in = self.signed_in.map(|it| SignedIn {
            ending: match is_consumed {
                true => Ending::Success,
                false => it.ending,
            },
            at: match may_be_stale {
                true => since(it.at, now_ms, GOOGLES_CODE_LIFETIME_MS),
                false => Interval::exactly(0),
            },
        });
        let purpose = match &self.purpose {
            Purpose::Legacy { project, code } => Purpose::Legacy {
                project: *project,
                code: code.as_ref().map(|it| it.observable(now_ms)),
            },
            clean @ Purpose::Clean { .. } => clean.clone(),
        };
        Self {
            ends,
            purpose,
            signed_in,
            is_consumed,
            ..self.clone()
        }
    }

    /// Whether an answer from `now_ms` on depends on the end of the provider's code.
    pub fn may_be_stale(&self, now_ms: i64) -> bool {
        let is_over = self.is_consumed || self.ends.latest_ms <= now_ms;
        !is_over && self.has_code() && self.code_ends().is_some()
    }
}

impl Code {
    fn observable(&self, now_ms: i64) -> Self {
        let token = self.token.as_ref().map(|it| it.observable(now_ms));
        Self {
            issued: since(self.issued, now_ms, CODE_LIFETIME_MS),
            token,
        }
    }
}

impl Token {
    fn observable(&self, now_ms: i64) -> Self {
        Self {
            issued: since(self.issued, now_ms, TOKEN_LIFETIME_MS),
            is_ended: self.is_ended,
        }
    }
}

/// When something with this lifetime began, counted from `now_ms`.
fn since(began: Interval, now_ms: i64, lifetime_ms: i64) -> Interval {
    let past = |ms: i64| (ms - now_ms).max(-lifetime_ms - 1);
    Interval {
        earliest_ms: past(began.earliest_ms),
        latest_ms: past(began.latest_ms),
    }
}

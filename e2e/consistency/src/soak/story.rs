//! One login as whoever took part in it was told: the account that the judge
//! reads. It holds no secret, so that it can be printed.

use std::fmt;

use broker::model::LoginId;
use mock_upstream::Provider;

use super::told::Told;
use crate::client::Answer;

/// Which of the two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flow {
    Clean,
    Legacy,
}

/// What somebody did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// `POST /v1/login/session`.
    Open,
    /// The browser, where the login begins for it.
    Visit,
    /// Another browser, at the authorization URL.
    Intrude,
    /// The browser, back from the provider; which of its upstream logins.
    Return(usize),
    /// Another browser, with the callback of the first.
    Stray,
    /// `POST /v1/login/result`.
    Read,
    /// `POST /v1/token`.
    Redeem,
    /// The same with another verifier.
    RedeemWrongly,
    /// `GET /v1/profile`.
    Profile,
    /// `POST /v1/revoke`.
    Revoke,
}

/// One thing that was done, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Telling {
    pub(crate) deed: Deed,
    /// From when to when, in nanoseconds that only flow.
    pub(crate) asked_ns: u64,
    pub(crate) told_ns: u64,
    /// The same by the broker's clock, in Unix milliseconds.
    pub(crate) asked_ms: i64,
    pub(crate) told_ms: i64,
    /// Whether one broker was there from the one to the other.
    pub(crate) is_settled: bool,
    pub(crate) told: Told,
}

/// Who signed in at a provider, and what went wrong there.
#[derive(Debug, Clone)]
pub(crate) struct Cast {
    pub(crate) id: String,
    pub(crate) at_ms: i64,
    pub(crate) misbehaviour: Option<&'static str>,
    /// The errors with which the login may end; none at all means that it succeeds.
    pub(crate) errors: Vec<&'static str>,
    /// Whether somebody else's misbehaviour may have spoiled it as well.
    pub(crate) is_shadowed: bool,
}

/// A login.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    pub(crate) index: u64,
    pub(crate) flow: Flow,
    pub(crate) provider: Provider,
    /// By which name the broker's log knows it.
    pub(crate) login: String,
    pub(crate) tellings: Vec<Telling>,
    /// Who was at the provider, upstream login by upstream login.
    pub(crate) casts: Vec<Cast>,
    /// How the log names the answers that were heard.
    pub(crate) request_ids: Vec<String>,
}

impl Flow {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Legacy => "legacy",
        }
    }
}

impl Deed {
    /// What it is called in a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Visit => "visit",
            Self::Intrude => "intrude",
            Self::Return(_) => "return",
            Self::Stray => "stray",
            Self::Read => "read",
            Self::Redeem => "redeem",
            Self::RedeemWrongly => "redeem wrongly",
            Self::Profile => "profile",
            Self::Revoke => "revoke",
        }
    }
}

impl Story {
    /// A login that nobody has begun.
    pub(crate) fn new(index: u64, flow: Flow, provider: Provider, login: &LoginId) -> Self {
        Self {
            index,
            flow,
            provider,
            login: login.as_str().to_owned(),
            tellings: Vec::new(),
            casts: Vec::new(),
            request_ids: Vec::new(),
        }
    }

    /// Takes in what was told.
    pub(crate) fn take(&mut self, telling: Telling, answer: Option<&Answer>) {
        // The log keeps silent of those who come too often.
        let logged = answer.filter(|it| it.status != 429);
        let request_id = logged.and_then(Answer::request_id);
        self.request_ids.extend(request_id.map(str::to_owned));
        self.tellings.push(telling);
    }

    /// The tellings of deeds that `is_it`, in the order in which they were asked.
    pub(crate) fn of(&self, is_it: impl Fn(Deed) -> bool) -> Vec<&Telling> {
        let mut tellings: Vec<_> = self.tellings.iter().filter(|it| is_it(it.deed)).collect();
        tellings.sort_by_key(|it| it.asked_ns);
        tellings
    }

    /// The first telling of `deed` that was a grant.
    pub(crate) fn granted(&self, deed: Deed) -> Option<&Telling> {
        self.of(|it| it == deed)
            .into_iter()
            .find(|it| it.told.is_grant())
    }

    /// How it ended, in a word.
    pub(crate) fn outcome(&self) -> &str {
        let is_end = |it: &&&Telling| match self.flow {
            Flow::Clean => it.deed == Deed::Read && it.told.is_grant(),
            Flow::Legacy => matches!(it.told, Told::Profile(_) | Told::Failed(_)),
        };
        let all = self.of(|_| true);
        match all.iter().find(is_end).map(|it| &it.told) {
            Some(Told::Succeeded(_) | Told::Profile(_)) => "succeeded",
            Some(Told::Failed(error)) => error,
            _ => "unfinished",
        }
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (flow, provider) = (self.flow.name(), self.provider.name());
        writeln!(
            f,
            "login {}, {flow}, at {provider}, in the log {}:",
            self.index, self.login
        )?;
        let all = self.of(|_| true);
        let (begin_ns, begin_ms) = all.first().map_or((0, 0), |it| (it.asked_ns, it.asked_ms));
        for it in all {
            let micros = |ns: u64| (ns - begin_ns) / 1_000;
            writeln!(
                f,
                "  {:>9} to {:>9} µs, {:>8} ms by its clock  {:?}: {:?}{}",
                micros(it.asked_ns),
                micros(it.told_ns),
                it.told_ms - begin_ms,
                it.deed,
                it.told,
                if it.is_settled {
                    ""
                } else {
                    " (the broker was restarted)"
                },
            )?;
        }
        for (upstream_login, cast) in self.casts.iter().enumerate() {
            writeln!(f, "  upstream login {upstream_login}: {cast:?}")?;
        }
        Ok(())
    }
}

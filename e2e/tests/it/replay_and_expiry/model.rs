//! The reference machine: what SPEC "States and transitions" and the kit's own
//! choices allow next, small enough to be read in one sitting.
//!
//! It knows nothing of HTTP, databases or digests and shares no type with the
//! broker. A [`World`] is what is [`known`]; [`World::step`] takes one step and says
//! what the broker must answer to it. The rest of the folder plays the same steps to a real broker:
//! [`script`] says what a step is, [`choice`] which steps are worth taking,
//! [`cast`] takes them over HTTP on a [`stage`], [`verdict`] compares,
//! [`histories`] does so thousands of times, [`coverage`] says where that led,
//! and [`found`] replays scripts.

mod cast;
mod choice;
mod coverage;
mod engines;
// A script has one step on each line.
#[rustfmt::skip]
mod found;
mod histories;
mod known;
mod script;
mod stage;
mod verdict;

use known::{
    Code, Login, Outcome, Progress, ProvidersAnswer, Purpose, Token, UPSTREAM_LOGIN_COUNTS_MS,
    UpstreamLogin, World,
};
use script::{Ending, Failure, Project, Step, Visitor, Wrong};

/// What the broker must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    /// Nothing: nobody asked it.
    Silence,
    /// 200 with an authorization URL.
    Started,
    /// 400, and no word of why.
    Refused,
    /// 401, and no word of why.
    Unrecognised,
    /// 200: the login is pending.
    Pending,
    /// 200: the login succeeded, with the person of this upstream login.
    Succeeded(u8),
    /// 200: the login failed.
    Failed(Failure),
    /// 303 to the provider.
    ToProvider,
    /// From the provider, not the broker: a redirect to the broker's callback.
    FromProvider,
    /// 303 to the exact callback, nothing added.
    Home,
    /// 303 to the callback with a code and the state.
    HomeWithCode,
    /// 303 to the callback with an error and the state.
    HomeWithError(Failure),
    /// 400, a page: the sign-in did not begin in this browser.
    NotThisBrowser,
    /// 400, a page: the upstream login counted once, or has ended.
    UpstreamLoginOver,
    /// 404, a page: the login is not known, or not any more.
    NotKnown,
    /// 410, a page: another browser has it.
    AnotherBrowser,
    /// 200 with an access token.
    Token,
    /// 200 with the person of this upstream login.
    Profile(u8),
    /// 200 with an empty object.
    Revoked,
}

impl World {
    /// Takes a step that it [allows](Self::allows).
    fn step(&mut self, step: Step) -> Answer {
        match step {
            Step::Start {
                login,
                key,
                by,
                at,
                wrong,
            } => {
                let fresh = Login::new(key, by, at, self.now_ms);
                self.start(login, fresh, wrong)
            }
            Step::Visit {
                login,
                by,
                upstream_login,
            } => self.visit(login, by, upstream_login),
            Step::Authorize {
                upstream_login,
                by,
                project,
                at,
            } => {
                let purpose = Purpose::Legacy {
                    project,
                    code: None,
                };
                let ends_ms = self.now_ms + UPSTREAM_LOGIN_COUNTS_MS;
                self.depart(upstream_login, UpstreamLogin::new(by, at, ends_ms, purpose))
            }
            Step::SignIn {
                upstream_login,
                ending,
            } => self.sign_in(upstream_login, ending),
            Step::Deliver { upstream_login, by } => self.deliver(upstream_login, by),
            Step::Read { login, by, wrong } => self.read(login, by, wrong),
            Step::Redeem {
                upstream_login,
                by,
                wrong,
            } => self.redeem(upstream_login, by, wrong),
            Step::Profile { upstream_login } => self.profile(upstream_login),
            Step::Revoke { upstream_login } => self.revoke(upstream_login),
            Step::Clock { to, off_ms } => self.wait_until(self.when(to).map(|at| at + off_ms)),
            Step::Wait { ms } => self.wait_until(Some(self.now_ms + ms)),
            // Whatever was promised before still holds.
            Step::Restart => Answer::Silence,
        }
    }

    /// A key is taken for 600 s from its creation, consumed or not, in any
    /// project. Used again afterwards, it replaces the old login.
    fn start(&mut self, login: u8, fresh: Login, wrong: Option<Wrong>) -> Answer {
        match wrong {
            Some(Wrong::Secret) => return Answer::Unrecognised,
            Some(_) => return Answer::Refused,
            None => {}
        }
        let holder = self.under_key(fresh.key);
        if holder.is_some_and(|(_, holder)| self.is_alive(holder)) {
            return Answer::Refused;
        }
        self.logins.insert(login, fresh);
        Answer::Started
    }

    /// A pending login belongs to the first browser; a plain client on a local
    /// machine may look without owning it. Later on everybody is sent home, as
    /// long as the login is known.
    fn visit(&mut self, login: u8, by: Visitor, upstream_login: u8) -> Answer {
        if !self.is_known(login) {
            return Answer::NotKnown;
        }
        let found = &self.logins[&login];
        if found.progress != Progress::Pending || !self.is_alive(found) {
            return Answer::Home;
        }
        if found.claimed_by.is_some_and(|owner| owner != by) {
            return Answer::AnotherBrowser;
        }
        let purpose = Purpose::Clean { login };
        let begun = UpstreamLogin::new(by, found.provider, found.ends_ms(), purpose);
        if by != Visitor::Curl {
            self.login_mut(login).claimed_by = Some(by);
        }
        self.depart(upstream_login, begun)
    }

    fn depart(&mut self, upstream_login: u8, begun: UpstreamLogin) -> Answer {
        self.upstream_logins.insert(upstream_login, begun);
        Answer::ToProvider
    }

    fn sign_in(&mut self, upstream_login: u8, ending: Ending) -> Answer {
        let given_ms = self.now_ms;
        self.upstream_login_mut(upstream_login).answer = Some(ProvidersAnswer { ending, given_ms });
        Answer::FromProvider
    }

    /// The answer counts once, within the upstream login's time, in the browser that made
    /// the upstream login. From then on the provider is asked, unless the person declined.
    fn deliver(&mut self, upstream_login: u8, by: Visitor) -> Answer {
        let now_ms = self.now_ms;
        let going = self.upstream_login_mut(upstream_login);
        if going.visitor != by {
            return Answer::NotThisBrowser;
        }
        let counts = !going.is_spent && now_ms < going.ends_ms;
        if !counts {
            return match going.purpose {
                Purpose::Clean { .. } => Answer::Home,
                Purpose::Legacy { .. } => Answer::UpstreamLoginOver,
            };
        }
        going.is_spent = true;
        let outcome = going.outcome(upstream_login, now_ms);
        self.exchanges += usize::from(outcome != Err(Failure::Denied));
        self.come_home(upstream_login, outcome)
    }

    /// The first upstream login to finish decides a clean login, and nobody sees which one
    /// that was. A legacy upstream login brings its own decision home.
    fn come_home(&mut self, upstream_login: u8, outcome: Outcome) -> Answer {
        let issued_ms = self.now_ms;
        match &mut self.upstream_login_mut(upstream_login).purpose {
            Purpose::Clean { login } => {
                let login = *login;
                let login = self.login_mut(login);
                if login.progress == Progress::Pending {
                    login.progress = Progress::Settled(outcome);
                }
                Answer::Home
            }
            Purpose::Legacy { code, .. } => match outcome {
                Err(failure) => Answer::HomeWithError(failure),
                Ok(_) => {
                    *code = Some(Code {
                        issued_ms,
                        token: None,
                    });
                    Answer::HomeWithCode
                }
            },
        }
    }

    /// A pending read consumes nothing, the first read of an outcome consumes it,
    /// and whatever else is wrong is 400 and consumes nothing.
    fn read(&mut self, login: u8, by: Project, wrong: Option<Wrong>) -> Answer {
        // Under a key that was used again stands the later login.
        let (id, found) = self
            .under_key(self.logins[&login].key)
            .expect("it was started");
        let is_theirs = wrong.is_none() && found.project == by;
        if !is_theirs || !self.is_alive(found) {
            return Answer::Refused;
        }
        match found.progress {
            Progress::Pending => Answer::Pending,
            Progress::Consumed => Answer::Refused,
            Progress::Settled(outcome) => {
                self.login_mut(id).progress = Progress::Consumed;
                outcome.map_or_else(Answer::Failed, Answer::Succeeded)
            }
        }
    }

    /// A code is good for 60 s and for one redemption. A second one, valid in all
    /// else, kills the token of the first; an invalid one touches nothing.
    fn redeem(&mut self, upstream_login: u8, by: Project, wrong: Option<Wrong>) -> Answer {
        let now_ms = self.now_ms;
        let (project, code) = self.code_mut(upstream_login);
        match wrong {
            Some(Wrong::Secret) => return Answer::Unrecognised,
            Some(_) => return Answer::Refused,
            None if project != by => return Answer::Refused,
            None => {}
        }
        let code_ends_ms = code.ends_ms();
        match &mut code.token {
            Some(token) => {
                token.is_ended = true;
                Answer::Refused
            }
            None if now_ms < code_ends_ms => {
                code.token = Some(Token {
                    issued_ms: now_ms,
                    is_ended: false,
                });
                Answer::Token
            }
            None => Answer::Refused,
        }
    }

    fn profile(&mut self, upstream_login: u8) -> Answer {
        let token = self.token_mut(upstream_login);
        let (ends_ms, is_ended) = (token.ends_ms(), token.is_ended);
        if !is_ended && self.now_ms < ends_ms {
            Answer::Profile(upstream_login)
        } else {
            Answer::Unrecognised
        }
    }

    fn revoke(&mut self, upstream_login: u8) -> Answer {
        self.token_mut(upstream_login).is_ended = true;
        Answer::Revoked
    }

    fn wait_until(&mut self, at_ms: Option<i64>) -> Answer {
        self.now_ms = at_ms.expect("it is allowed");
        Answer::Silence
    }
}

//! The reference machine: what SPEC "States and transitions" and the kit's own
//! choices allow next, small enough to be read in one sitting.
//!
//! It knows nothing of HTTP, databases or digests and shares no type with the
//! broker. [`World::step`] takes one step and says what the broker must answer
//! to it. The rest of the folder plays the same steps to a real broker:
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
mod process;
mod script;
mod stage;
mod verdict;

use std::collections::BTreeMap;

use script::{Ending, Failure, Moment, Project, Provider, Step, Visitor, Wrong};

/// Further trips would push a browser's oldest one out of its cookies.
const MOST_TRIPS: u8 = 8;

/// Everything that may be known of a history so far. Times are in milliseconds
/// since its beginning.
#[derive(Debug, Clone, Default)]
struct World {
    now_ms: i64,
    logins: BTreeMap<u8, Login>,
    trips: BTreeMap<u8, Trip>,
    /// How often a provider was asked to exchange its code.
    exchanges: usize,
}

/// A login of the clean flow.
#[derive(Debug, Clone)]
struct Login {
    /// The first login that was started with the same key.
    key: u8,
    project: Project,
    provider: Provider,
    opened_ms: i64,
    claimed_by: Option<Visitor>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Pending,
    Settled(Outcome),
    Consumed,
}

/// How a login ended: with the person of a trip, or with none.
type Outcome = Result<u8, Failure>;

/// One visitor's way to a provider and back, in either flow.
#[derive(Debug, Clone)]
struct Trip {
    visitor: Visitor,
    provider: Provider,
    ends_ms: i64,
    purpose: Purpose,
    answer: Option<ProvidersAnswer>,
    is_spent: bool,
}

#[derive(Debug, Clone)]
enum Purpose {
    Clean {
        login: u8,
    },
    Legacy {
        project: Project,
        code: Option<Code>,
    },
}

/// What the provider gave the visitor to bring home.
#[derive(Debug, Clone, Copy)]
struct ProvidersAnswer {
    ending: Ending,
    given_ms: i64,
}

#[derive(Debug, Clone)]
struct Code {
    issued_ms: i64,
    token: Option<Token>,
}

#[derive(Debug, Clone)]
struct Token {
    issued_ms: i64,
    is_ended: bool,
}

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
    /// 200: the login succeeded, with the person of this trip.
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
    /// 400, a page: the trip counted once, or has ended.
    TripOver,
    /// 404, a page: the login is not known, or not any more.
    NotKnown,
    /// 410, a page: another browser has it.
    AnotherBrowser,
    /// 200 with an access token.
    Token,
    /// 200 with the person of this trip.
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
            Step::Visit { login, by, trip } => self.visit(login, by, trip),
            Step::Authorize {
                trip,
                by,
                project,
                at,
            } => {
                let purpose = Purpose::Legacy {
                    project,
                    code: None,
                };
                self.depart(trip, Trip::new(by, at, self.now_ms + 600_000, purpose))
            }
            Step::SignIn { trip, ending } => self.sign_in(trip, ending),
            Step::Deliver { trip, by } => self.deliver(trip, by),
            Step::Read { login, by, wrong } => self.read(login, by, wrong),
            Step::Redeem { trip, by, wrong } => self.redeem(trip, by, wrong),
            Step::Profile { trip } => self.profile(trip),
            Step::Revoke { trip } => self.revoke(trip),
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
    fn visit(&mut self, login: u8, by: Visitor, trip: u8) -> Answer {
        if !self.is_known(login) {
            return Answer::NotKnown;
        }
        let found = &self.logins[&login];
        if found.stage != Stage::Pending || !self.is_alive(found) {
            return Answer::Home;
        }
        if found.claimed_by.is_some_and(|owner| owner != by) {
            return Answer::AnotherBrowser;
        }
        let purpose = Purpose::Clean { login };
        let begun = Trip::new(by, found.provider, found.ends_ms(), purpose);
        if by != Visitor::Curl {
            self.login_mut(login).claimed_by = Some(by);
        }
        self.depart(trip, begun)
    }

    fn depart(&mut self, trip: u8, begun: Trip) -> Answer {
        self.trips.insert(trip, begun);
        Answer::ToProvider
    }

    fn sign_in(&mut self, trip: u8, ending: Ending) -> Answer {
        let given_ms = self.now_ms;
        self.trip_mut(trip).answer = Some(ProvidersAnswer { ending, given_ms });
        Answer::FromProvider
    }

    /// The answer counts once, within the trip's time, in the browser that made
    /// the trip. From then on the provider is asked, unless the person declined.
    fn deliver(&mut self, trip: u8, by: Visitor) -> Answer {
        let now_ms = self.now_ms;
        let going = self.trip_mut(trip);
        if going.visitor != by {
            return Answer::NotThisBrowser;
        }
        let counts = !going.is_spent && now_ms < going.ends_ms;
        if !counts {
            return match going.purpose {
                Purpose::Clean { .. } => Answer::Home,
                Purpose::Legacy { .. } => Answer::TripOver,
            };
        }
        going.is_spent = true;
        let outcome = going.outcome(trip, now_ms);
        let asks = outcome != Err(Failure::Denied);
        self.exchanges += usize::from(asks);
        self.come_home(trip, outcome)
    }

    /// The first trip to finish decides a clean login. A legacy login is decided
    /// by each of its trips, for there is one.
    fn come_home(&mut self, trip: u8, outcome: Outcome) -> Answer {
        let issued_ms = self.now_ms;
        match &mut self.trip_mut(trip).purpose {
            Purpose::Clean { login } => {
                let login = *login;
                let login = self.login_mut(login);
                if login.stage == Stage::Pending {
                    login.stage = Stage::Settled(outcome);
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
        match found.stage {
            Stage::Pending => Answer::Pending,
            Stage::Consumed => Answer::Refused,
            Stage::Settled(outcome) => {
                self.login_mut(id).stage = Stage::Consumed;
                outcome.map_or_else(Answer::Failed, Answer::Succeeded)
            }
        }
    }

    /// A code is good for 60 s and for one redemption. A second one, valid in all
    /// else, kills the token of the first; an invalid one touches nothing.
    fn redeem(&mut self, trip: u8, by: Project, wrong: Option<Wrong>) -> Answer {
        let now_ms = self.now_ms;
        let (project, code) = self.code_mut(trip);
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

    fn profile(&mut self, trip: u8) -> Answer {
        let token = self.token_mut(trip);
        let (ends_ms, is_ended) = (token.ends_ms(), token.is_ended);
        if !is_ended && self.now_ms < ends_ms {
            Answer::Profile(trip)
        } else {
            Answer::Unrecognised
        }
    }

    fn revoke(&mut self, trip: u8) -> Answer {
        self.token_mut(trip).is_ended = true;
        Answer::Revoked
    }

    fn wait_until(&mut self, at_ms: Option<i64>) -> Answer {
        self.now_ms = at_ms.expect("it is allowed");
        Answer::Silence
    }
}

/// What there is to see.
impl World {
    /// Whether `step` makes sense now, whatever comes of it.
    fn allows(&self, step: Step) -> bool {
        match step {
            Step::Start {
                login, key, wrong, ..
            } => {
                let is_new = self.logins.keys().all(|earlier| *earlier < login);
                let has_key = key == login || self.logins.get(&key).is_some_and(|it| it.key == key);
                is_new && has_key && wrong != Some(Wrong::Verifier)
            }
            Step::Visit { login, trip, .. } => {
                self.logins.contains_key(&login) && self.is_new_trip(trip)
            }
            Step::Authorize { trip, .. } => self.is_new_trip(trip),
            Step::SignIn { trip, .. } => self
                .trips
                .get(&trip)
                .is_some_and(|trip| trip.answer.is_none()),
            Step::Deliver { trip, .. } => self
                .trips
                .get(&trip)
                .is_some_and(|trip| trip.answer.is_some()),
            Step::Read { login, wrong, .. } => {
                self.logins.contains_key(&login) && wrong != Some(Wrong::Verifier)
            }
            Step::Redeem { trip, .. } => self.code(trip).is_some(),
            Step::Profile { trip } | Step::Revoke { trip } => self.token(trip).is_some(),
            Step::Clock { to, off_ms } => self
                .when(to)
                .is_some_and(|at_ms| at_ms + off_ms > self.now_ms),
            Step::Wait { ms } => ms > 0,
            Step::Restart => true,
        }
    }

    /// When something ends; nothing, while it has not begun.
    fn when(&self, moment: Moment) -> Option<i64> {
        match moment {
            Moment::LoginEnds(login) => self.logins.get(&login).map(Login::ends_ms),
            Moment::LoginForgotten(login) => self.logins.get(&login).map(Login::known_until_ms),
            Moment::TripEnds(trip) => self.trips.get(&trip).map(|trip| trip.ends_ms),
            Moment::AnswerStale(trip) => self.trips.get(&trip).and_then(Trip::stale_ms),
            Moment::CodeEnds(trip) => self.code(trip).map(Code::ends_ms),
            Moment::TokenEnds(trip) => self.token(trip).map(Token::ends_ms),
        }
    }

    fn is_new_trip(&self, trip: u8) -> bool {
        trip <= MOST_TRIPS && self.trips.keys().all(|earlier| *earlier < trip)
    }

    fn is_alive(&self, login: &Login) -> bool {
        self.now_ms < login.ends_ms()
    }

    /// A login is known for 1200 s, unless its key is used again.
    fn is_known(&self, login: u8) -> bool {
        let found = &self.logins[&login];
        let is_latest = self.under_key(found.key).is_some_and(|(id, _)| id == login);
        is_latest && self.now_ms < found.known_until_ms()
    }

    /// The latest login that was started with a key.
    fn under_key(&self, key: u8) -> Option<(u8, &Login)> {
        let mut latest_first = self.logins.iter().rev();
        latest_first
            .find(|(_, login)| login.key == key)
            .map(|(id, login)| (*id, login))
    }

    fn code(&self, trip: u8) -> Option<&Code> {
        match &self.trips.get(&trip)?.purpose {
            Purpose::Legacy { code, .. } => code.as_ref(),
            Purpose::Clean { .. } => None,
        }
    }

    fn token(&self, trip: u8) -> Option<&Token> {
        self.code(trip)?.token.as_ref()
    }

    fn login_mut(&mut self, login: u8) -> &mut Login {
        self.logins.get_mut(&login).expect("it was started")
    }

    fn trip_mut(&mut self, trip: u8) -> &mut Trip {
        self.trips.get_mut(&trip).expect("it has begun")
    }

    fn code_mut(&mut self, trip: u8) -> (Project, &mut Code) {
        match &mut self.trip_mut(trip).purpose {
            Purpose::Legacy {
                project,
                code: Some(code),
            } => (*project, code),
            _ => panic!("it brought no code"),
        }
    }

    fn token_mut(&mut self, trip: u8) -> &mut Token {
        self.code_mut(trip)
            .1
            .token
            .as_mut()
            .expect("it was redeemed")
    }
}

impl Login {
    fn new(key: u8, project: Project, provider: Provider, opened_ms: i64) -> Self {
        Self {
            key,
            project,
            provider,
            opened_ms,
            claimed_by: None,
            stage: Stage::Pending,
        }
    }

    fn ends_ms(&self) -> i64 {
        self.opened_ms + 600_000
    }

    fn known_until_ms(&self) -> i64 {
        self.opened_ms + 1_200_000
    }
}

impl Trip {
    fn new(visitor: Visitor, provider: Provider, ends_ms: i64, purpose: Purpose) -> Self {
        Self {
            visitor,
            provider,
            ends_ms,
            purpose,
            answer: None,
            is_spent: false,
        }
    }

    /// When the provider itself stops taking its code back: Google after a minute,
    /// GitHub not before the trip ends.
    fn stale_ms(&self) -> Option<i64> {
        match (self.provider, self.answer) {
            (Provider::Google, Some(answer)) => Some(answer.given_ms + 60_000),
            _ => None,
        }
    }

    fn outcome(&self, own: u8, now_ms: i64) -> Outcome {
        let is_stale = self.stale_ms().is_some_and(|stale_ms| stale_ms <= now_ms);
        match self.answer.expect("it was given").ending {
            Err(Failure::Denied) => Err(Failure::Denied),
            _ if is_stale => Err(Failure::Invalid),
            Err(failure) => Err(failure),
            Ok(()) => Ok(own),
        }
    }
}

impl Code {
    fn ends_ms(&self) -> i64 {
        self.issued_ms + 60_000
    }
}

impl Token {
    fn ends_ms(&self) -> i64 {
        self.issued_ms + 900_000
    }
}

//! The attacker of the relay lesson. They start logins at the demo, keep the demo's cookies,
//! send the address to a victim, and come back for the result. Their client is no browser: it
//! follows no redirect. And the attacker's desk, which shows the attacks on the page.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::relay::RelayGuard;
use contract::{ClientId, LoginLifetime};
use reqwest::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Certificate, Client, Method, Response, redirect, retry};

use super::progress::LessonEvent;
use crate::event_log::EventLog;
use crate::facts::meaning::Outcome;
use crate::facts::{Fact, LoginFlow};
use crate::labels;
use crate::request::ControlError;
use crate::runtime::StackRuntime;

/// The time for one call. The demo itself waits for the broker.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The number of attacks that are kept.
const MAX_ATTACKS: usize = 20;

/// The logins that the attacker has started, oldest first.
#[derive(Default)]
pub(crate) struct Attacks(Mutex<VecDeque<Attack>>);

/// A login that the attacker has started.
#[derive(Clone)]
pub(super) struct Attack {
    pub(super) login: String,
    /// The run of the event log, which a reset ends.
    run: String,
    flow: LoginFlow,
    /// The address that is sent to the victim.
    pub(super) link: String,
    /// The sequence number of the last event before it.
    pub(super) after: u64,
    /// The time of the start, in Unix milliseconds.
    at: i64,
    /// Whether the demo has signed the attacker in who came back for the result; `None` before
    /// that.
    pub(super) is_in: Option<bool>,
    /// The cookies that the attacker's browser has of the demo: names with their values.
    cookies: Vec<(String, String)>,
}

impl Attacks {
    /// The attacks since the start of the stack, or since its last reset.
    pub(super) fn list(&self, event_log: &EventLog) -> Vec<Attack> {
        let run = event_log.run();
        let attacks = self.lock();
        let of_run = attacks.iter().filter(|it| it.run == run);
        of_run.cloned().collect()
    }

    /// Starts a login at the demo with Google.
    pub(super) async fn start(
        &self,
        runtime: &StackRuntime,
        flow: LoginFlow,
    ) -> Result<(), ControlError> {
        let event_log = runtime.event_log();
        let (run, after) = (event_log.run(), event_log.last_seq());
        let mut cookies = Vec::new();
        let path = match flow {
            LoginFlow::Clean => "/login/google",
            LoginFlow::Legacy => "/legacy/login/google",
        };
        let link = send(runtime, Method::POST, path, &mut cookies).await?;
        let found = link.and_then(|link| Some((event_log.secrets().login_at(&link)?, link)));
        let (login, link) = found.ok_or_else(|| {
            ControlError::unavailable(
                "the demo did not start a login; is a fault armed? Begin the lesson again",
            )
        })?;
        let mut attacks = self.lock();
        attacks.retain(|it| it.run == run);
        if attacks.len() == MAX_ATTACKS {
            attacks.pop_front();
        }
        attacks.push_back(Attack {
            login: login.as_str().to_owned(),
            run,
            flow,
            link,
            after,
            at: runtime.clock.now_ms(),
            is_in: None,
            cookies,
        });
        Ok(())
    }

    /// Comes back to the demo's callback with the cookies of the attacker.
    pub(super) async fn read(
        &self,
        runtime: &StackRuntime,
        login: &str,
    ) -> Result<(), ControlError> {
        let gone = || {
            ControlError::not_found(
                "login: the attacker started no such login, or the stack was reset; start another",
            )
        };
        let event_log = runtime.event_log();
        let mut known = self.list(event_log).into_iter();
        let mut attack = known.find(|it| it.login == login).ok_or_else(gone)?;
        let path = match attack.flow {
            LoginFlow::Clean => "/callback",
            LoginFlow::Legacy => "/legacy/callback",
        };
        let target = send(runtime, Method::GET, path, &mut attack.cookies).await?;
        // The demo redirects a user who is signed in to their profile.
        attack.is_in = Some(target.as_deref() == Some("/profile"));
        let mut attacks = self.lock();
        let mut of_run = attacks.iter_mut().filter(|it| it.run == event_log.run());
        let known = of_run.find(|it| it.login == attack.login);
        known.map(|known| *known = attack).ok_or_else(gone)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Attack>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of the demo's project.
pub(super) fn demo(runtime: &StackRuntime) -> Result<ClientId, ControlError> {
    let demo = runtime.projects.find("demo");
    demo.map_err(|_| ControlError::not_found("this sandbox has no demo"))
}

/// Sends a request to the demo, and returns the address that it redirects to.
async fn send(
    runtime: &StackRuntime,
    method: Method,
    path: &str,
    cookies: &mut Vec<(String, String)>,
) -> Result<Option<String>, ControlError> {
    let demo = runtime.urls.consumer.as_ref().ok_or_else(|| {
        ControlError::not_found("this sandbox has no demo; the lessons of the stack have one")
    })?;
    let pairs = cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let request = client(runtime)?
        .request(method, format!("{demo}{path}"))
        .header(ORIGIN, demo)
        .header(COOKIE, pairs.collect::<Vec<_>>().join("; "));
    let answer = request.send().await;
    let answer = answer
        .map_err(|_| ControlError::unavailable("the demo does not answer; is it running?"))?;
    learn(cookies, &answer);
    let location = answer.headers().get(LOCATION);
    Ok(location.and_then(|it| it.to_str().ok().map(str::to_owned)))
}

fn client(runtime: &StackRuntime) -> Result<Client, ControlError> {
    let mut http = Client::builder()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .no_proxy()
        .timeout(TIMEOUT);
    if let Some(tls) = &runtime.reach.tls {
        let authority = Certificate::from_pem(tls.ca_pem().as_bytes());
        http = http.tls_certs_merge([authority.map_err(ControlError::internal)?]);
    }
    http.build().map_err(ControlError::internal)
}

fn learn(cookies: &mut Vec<(String, String)>, answer: &Response) {
    for line in answer.headers().get_all(SET_COOKIE) {
        let pair = line.to_str().unwrap_or_default().split(';').next();
        let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) else {
            continue;
        };
        cookies.retain(|(known, _)| known != name);
        cookies.push((name.to_owned(), value.to_owned()));
    }
}

/// The settings of a relay guard, as a student chooses among them.
pub(super) const GUARDS: [RelayGuard; 3] = [RelayGuard::Auto, RelayGuard::Always, RelayGuard::Off];

/// The attacker's desk.
pub(super) struct AttackerDesk {
    /// The names of the relay guard's settings, each with whether it is set.
    pub(super) guards: [(&'static str, bool); 3],
    /// Newest first.
    pub(super) attacks: Vec<AttackView>,
}

/// One attack.
pub(super) struct AttackView {
    pub(super) attack: Attack,
    pub(super) flow: &'static str,
    /// The time at which it expires, in Unix milliseconds, and the time that is left.
    pub(super) expires: (i64, String),
    pub(super) state: &'static str,
    /// The demo's answer to the attacker who came back, in a sentence.
    pub(super) read: Option<String>,
    /// Whether the broker has seen it, so that there is a diagram.
    pub(super) is_known: bool,
}

impl AttackerDesk {
    pub(super) fn new(
        attacks: Vec<Attack>,
        events: &[LessonEvent<'_>],
        relay_guard: RelayGuard,
        now_ms: i64,
    ) -> Self {
        let guard = |guard: RelayGuard| (guard.as_str(), guard == relay_guard);
        let newest_first = attacks.into_iter().rev();
        let shown = newest_first.map(|attack| AttackView::new(attack, events, now_ms));
        Self {
            guards: GUARDS.map(guard),
            attacks: shown.collect(),
        }
    }
}

impl AttackView {
    fn new(attack: Attack, events: &[LessonEvent<'_>], now_ms: i64) -> Self {
        let its: Vec<_> = events
            .iter()
            .filter(|it| it.event.login.as_deref() == Some(&attack.login))
            .collect();
        let expires_at = attack.at + LoginLifetime::MS;
        let progress = its.iter().rev().find_map(|it| state(it.meaning.fact));
        Self {
            flow: labels::flow(Some(attack.flow)),
            expires: (expires_at, labels::minutes(expires_at - now_ms)),
            state: progress.unwrap_or("waits for the victim"),
            read: attack.is_in.map(|is_in| report(is_in, attack.flow, &its)),
            is_known: !its.is_empty(),
            attack,
        }
    }
}

/// The progress of the victim, by the last fact that shows it.
fn state(fact: Fact) -> Option<&'static str> {
    Some(match fact {
        Fact::Asked => "opened by the victim, who is asked",
        Fact::SentToProvider => "opened by the victim, who was not asked",
        Fact::Authorized => "opened by the victim",
        Fact::Confirmed => "the victim pressed Continue",
        Fact::Cancelled => "the victim pressed Cancel: it is over",
        Fact::AskedOnReturn => "the victim is back from the provider, and is asked",
        Fact::FailedThere => "the sign-in failed: it is over",
        Fact::CameBack => "the victim signed in: the result is ready",
        Fact::CameBackWithCode => "the victim signed in: the code went to the victim’s browser",
        Fact::SignedIn | Fact::Failed => "the result was read",
        _ => return None,
    })
}

/// The demo's answer to the attacker, in a sentence.
fn report(is_in: bool, flow: LoginFlow, events: &[&LessonEvent<'_>]) -> String {
    let outcome = events.iter().rev().find_map(|it| it.meaning.outcome());
    match (is_in, outcome) {
        (true, Some(Outcome::SignedIn(user))) => {
            format!("The demo has signed the attacker in as {user}.")
        }
        (true, _) => "The demo has signed the attacker in.".to_owned(),
        (false, Some(Outcome::Failed(error))) => {
            format!("The attacker is not signed in: the login failed with {error}.")
        }
        (false, _) if flow == LoginFlow::Legacy => {
            "The attacker is not signed in: their browser has no code and no state.".to_owned()
        }
        (false, _) => "The attacker is not signed in: there is no result yet.".to_owned(),
    }
}

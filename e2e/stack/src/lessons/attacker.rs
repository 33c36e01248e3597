//! The attacker of some lessons. They start logins at the demo, keep the demo's cookies, send
//! the address to a victim, and come back for the result. Their client is no browser: it follows
//! no redirect. And the view of the attacks on the page.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::relay::RelayGuard;
use contract::{ClientId, LoginLifetime};
use reqwest::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Certificate, Client, Method, redirect, retry};

use super::lesson::{CATALOGUE, Press};
use super::progress::LessonEvent;
use crate::facts::LoginFlow;
use crate::labels;
use crate::request::ControlError;
use crate::runtime::StackRuntime;

/// The time for one call. The demo itself waits for the broker.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The number of attacks that are kept.
const MAX_ATTACKS: usize = 20;

/// A code and a state of the attacker's own making.
const FORGED: &str =
    "?code=forged-by-the-attacker&state=forged-by-the-attacker-forged-by-the-attack";

/// The logins that the attacker has started, oldest first.
#[derive(Default)]
pub(crate) struct Attacks(Mutex<Vec<Attack>>);

/// A login that the attacker has started.
#[derive(Clone, Default)]
pub(crate) struct Attack {
    pub(crate) login: String,
    /// The run of the event log, which a reset ends.
    pub(crate) run: String,
    pub(crate) flow: LoginFlow,
    /// The address that is sent to the victim.
    pub(crate) link: String,
    /// The sequence number of the last event before it.
    pub(crate) after: u64,
    /// The time of the start, in Unix milliseconds.
    pub(crate) at: i64,
    pub(crate) back: Option<Return>,
    /// The cookies that the attacker's browser has of the demo: names with their values.
    pub(crate) cookies: Vec<(String, String)>,
}

/// The end of the attacker's last return to the demo's callback.
#[derive(Clone)]
pub(crate) struct Return {
    pub(crate) is_in: bool,
    /// Whether it was with a state that the demo has not drawn.
    pub(crate) is_forged: bool,
    /// The page that the attacker's browser shows.
    pub(crate) page: String,
}

impl Attack {
    /// The button that started it, as its form.
    pub(crate) fn press(&self) -> Press {
        let flow = match self.flow {
            LoginFlow::Clean => "clean",
            LoginFlow::Legacy => "legacy",
        };
        Press::form("/do/attack", &[("flow", flow)])
    }
}

impl Attacks {
    /// The attacks since the event `since`, of this run of the stack.
    pub(super) fn since(&self, runtime: &StackRuntime, since: u64) -> Vec<Attack> {
        let run = runtime.event_log().run();
        let attacks = self.lock();
        let own = attacks
            .iter()
            .filter(|it| it.run == run && it.after >= since);
        own.cloned().collect()
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
        let (link, _) = send(runtime, Method::POST, path, &mut cookies).await?;
        let found = link.and_then(|link| Some((event_log.secrets().login_at(&link)?, link)));
        let (login, link) = found.ok_or_else(|| {
            ControlError::unavailable(
                "the demo did not start a login; is a fault armed? Clear it, and start again",
            )
        })?;
        let mut attacks = self.lock();
        attacks.retain(|it| it.run == run);
        let surplus = (attacks.len() + 1).saturating_sub(MAX_ATTACKS);
        attacks.drain(..surplus);
        attacks.push(Attack {
            login: login.as_str().to_owned(),
            run,
            flow,
            link,
            after,
            at: runtime.clock.now_ms(),
            back: None,
            cookies,
        });
        Ok(())
    }

    /// Comes back to the demo's callback with the cookies of the attacker: for `login`, or for
    /// the newest one.
    pub(super) async fn come_back(
        &self,
        runtime: &StackRuntime,
        login: Option<&str>,
        is_forged: bool,
    ) -> Result<(), ControlError> {
        let gone = || {
            ControlError::not_found(
                "login: the attacker started no such login, or the stack was reset; start another",
            )
        };
        let mut newest_first = self.since(runtime, 0).into_iter().rev();
        let known = newest_first.find(|it| login.is_none_or(|login| it.login == login));
        let mut attack = known.ok_or_else(gone)?;
        let path = match attack.flow {
            LoginFlow::Clean => "/callback",
            LoginFlow::Legacy => "/legacy/callback",
        };
        let path = format!("{path}{}", if is_forged { FORGED } else { "" });
        let cookies = &mut attack.cookies;
        let (target, mut page) = send(runtime, Method::GET, &path, cookies).await?;
        // The demo redirects a user who is signed in to their profile.
        let is_in = target.as_deref() == Some("/profile");
        if is_in {
            (_, page) = send(runtime, Method::GET, "/profile", cookies).await?;
        }
        attack.back = Some(Return {
            is_in,
            is_forged,
            page: page
                .replace("/style.css", "/demo.css")
                .replace("/kit/panel.css", "/demo.css"),
        });
        let mut attacks = self.lock();
        let known = attacks.iter_mut().find(|it| it.login == attack.login);
        known.map(|known| *known = attack).ok_or_else(gone)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Attack>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of the demo's project.
pub(super) fn demo(runtime: &StackRuntime) -> Result<ClientId, ControlError> {
    let demo = runtime.projects.find("demo");
    demo.map_err(|_| ControlError::not_found("this sandbox has no demo"))
}

/// Sends a request to the demo, and returns the address that it redirects to, and its page.
async fn send(
    runtime: &StackRuntime,
    method: Method,
    path: &str,
    cookies: &mut Vec<(String, String)>,
) -> Result<(Option<String>, String), ControlError> {
    let demo = runtime.urls.consumer.as_ref().ok_or_else(|| {
        ControlError::not_found("this sandbox has no demo; the lessons of the stack have one")
    })?;
    let pairs = cookies.iter().map(|(name, it)| format!("{name}={it}"));
    let request = client(runtime)?
        .request(method, format!("{demo}{path}"))
        .header(ORIGIN, demo)
        .header(COOKIE, pairs.collect::<Vec<_>>().join("; "));
    let silent = |_| ControlError::unavailable("the demo does not answer; is it running?");
    let answer = request.send().await.map_err(silent)?;
    for line in answer.headers().get_all(SET_COOKIE) {
        let pair = line.to_str().unwrap_or_default().split(';').next();
        if let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) {
            cookies.retain(|(known, _)| known != name);
            cookies.push((name.to_owned(), value.to_owned()));
        }
    }
    let location = answer.headers().get(LOCATION);
    let location = location.and_then(|it| it.to_str().ok().map(str::to_owned));
    Ok((location, answer.text().await.map_err(silent)?))
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

/// The settings of a relay guard, as a student chooses among them.
pub(super) const GUARDS: [RelayGuard; 3] = [RelayGuard::Auto, RelayGuard::Always, RelayGuard::Off];

/// The attacks, as the page shows them.
pub(super) struct AttacksView {
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
    /// Whether the broker has seen it, so that there is a diagram.
    pub(super) is_known: bool,
}

impl AttacksView {
    pub(super) fn new(
        runtime: &StackRuntime,
        attacks: &[Attack],
        events: &[LessonEvent<'_>],
    ) -> Self {
        let set = demo(runtime).ok();
        let set = set.and_then(|demo| runtime.projects.relay_guard(&demo));
        let view = |attack: &Attack| {
            let login = attack.login.as_str();
            let of_login = |it: &&LessonEvent<'_>| it.event.login.as_deref() == Some(login);
            let mut its = events.iter().filter(of_login).rev().peekable();
            let expires_at = attack.at + LoginLifetime::MS;
            let left = labels::minutes(expires_at - runtime.clock.now_ms());
            AttackView {
                attack: attack.clone(),
                flow: labels::flow(Some(attack.flow)),
                expires: (expires_at, left),
                is_known: its.peek().is_some(),
                state: its
                    .find_map(|it| CATALOGUE.victim(it.meaning.fact))
                    .unwrap_or("waits for the victim"),
            }
        };
        Self {
            guards: GUARDS.map(|guard| (guard.as_str(), Some(guard) == set)),
            attacks: attacks.iter().rev().map(view).collect(),
        }
    }
}

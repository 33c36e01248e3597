//! The attacker of the relay lesson. They start logins at the demo, keep the demo's
//! cookies, send the address to a victim, and come back for the result.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use broker::model::LoginId;
use url::Url;

use super::demo_client::{Cookies, DemoClient};
use crate::control_error::ControlError;
use crate::login_status::LoginFlow;
use crate::runtime::StackRuntime;

/// The number of attacks that are kept.
const MAX_ATTACKS: usize = 20;

/// The logins that the attacker has started, oldest first.
#[derive(Default)]
pub(crate) struct Attacker(Mutex<VecDeque<Attack>>);

/// A login that the attacker has started.
#[derive(Clone)]
pub(super) struct Attack {
    pub(super) login: String,
    pub(super) flow: LoginFlow,
    /// The address that is sent to the victim.
    pub(super) link: String,
    /// The sequence number of the last event before it.
    pub(super) after: u64,
    /// The time of the start, in Unix milliseconds.
    pub(super) at: i64,
    /// The demo's last answer to the attacker who came back for the result.
    pub(super) read: Option<Read>,
    cookies: Cookies,
}

/// The demo's answer to the attacker at its callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// The attacker is signed in.
    SignedIn,
    /// They are not.
    Refused,
}

impl Attacker {
    /// Starts a login at the demo with Google.
    pub(super) async fn start(
        &self,
        runtime: &StackRuntime,
        flow: LoginFlow,
    ) -> Result<(), ControlError> {
        let after = runtime.event_log().last_seq();
        let mut client = DemoClient::new(runtime, Cookies::default())?;
        let path = match flow {
            LoginFlow::Clean => "/login/google",
            LoginFlow::Legacy => "/legacy/login/google",
        };
        let link = client.press(path).await?;
        let found = link.and_then(|link| Some((login_of(runtime, flow, &link)?, link)));
        let (login, link) = found.ok_or_else(|| {
            ControlError::unavailable(
                "the demo did not start a login; is a fault armed? Begin the lesson again",
            )
        })?;
        self.keep(Attack {
            login,
            flow,
            link,
            after,
            at: runtime.clock.now_ms(),
            read: None,
            cookies: client.cookies,
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
        let attack = self.attacks().into_iter().find(|it| it.login == login);
        let attack = attack.ok_or_else(gone)?;
        let mut client = DemoClient::new(runtime, attack.cookies)?;
        let path = match attack.flow {
            LoginFlow::Clean => "/callback",
            LoginFlow::Legacy => "/legacy/callback",
        };
        // The demo redirects a user who is signed in to their profile.
        let read = match client.open(path).await?.as_deref() {
            Some("/profile") => Read::SignedIn,
            _ => Read::Refused,
        };
        let mut attacks = self.lock();
        let kept = attacks.iter_mut().find(|it| it.login == login);
        let kept = kept.ok_or_else(gone)?;
        kept.read = Some(read);
        kept.cookies = client.cookies;
        Ok(())
    }

    /// The attacks, oldest first.
    pub(super) fn attacks(&self) -> Vec<Attack> {
        self.lock().iter().cloned().collect()
    }

    /// Forgets every attack.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn keep(&self, attack: Attack) {
        let mut attacks = self.lock();
        if attacks.len() == MAX_ATTACKS {
            attacks.pop_front();
        }
        attacks.push_back(attack);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Attack>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The id of the login that `link` leads to.
fn login_of(runtime: &StackRuntime, flow: LoginFlow, link: &str) -> Option<String> {
    let link = Url::parse(link).ok()?;
    let login = match flow {
        LoginFlow::Clean => {
            let handle = link.path_segments()?.next_back()?;
            runtime.event_log().secrets().owner_of(handle)?.login?
        }
        LoginFlow::Legacy => {
            let state = link.query_pairs().find(|(name, _)| name == "state")?.1;
            LoginId::of_state(&state.parse().ok()?)
        }
    };
    Some(login.as_str().to_owned())
}

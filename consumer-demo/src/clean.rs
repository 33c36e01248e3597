//! The clean callback flow, which the specification recommends.
//!
//! ```text
//! browser            this application              broker
//!    │ POST /login/google    │                        │
//!    ├──────────────────────►│ POST /v1/login/session │   1. a fresh key, kept here
//!    │                       ├───────────────────────►│
//!    │ 303 authorization_url │◄───────────────────────┤
//!    │◄──────────────────────┤                        │      … and a fresh cookie there
//!    │                                                │   2. the user signs in
//!    ├────────────── … the provider … ───────────────►│
//!    │ 303 /callback, bare                            │   3. back, with cookies only
//!    │◄───────────────────────────────────────────────┤
//!    │ GET /callback         │ POST /v1/login/result  │
//!    ├──────────────────────►├───────────────────────►│   4. the result, once
//!    │ 303 /profile, new cookie                       │
//!    │◄──────────────────────┤                        │
//! ```
//!
//! The callback carries no parameter. What ties the browser that comes back to
//! the login that was started is a cookie that this start made, and nothing else.
//! The session's cookie is no substitute: it existed before the start, so an
//! attacker may have planted it, and could request `/callback` in a loop until the
//! victim's result is there. (A page on another port of our host name can plant this
//! cookie, too: then the browser that comes back looks different from the one that
//! started. `BrowserLook` in `cookies.rs` has more.)
//!
//! (An attacker who starts a login here may also send its `authorization_url` to a
//! victim and collect the victim's sign-in. The broker checks where a navigation
//! began, which is why a login starts by a form on *our* page. Where that does not
//! suffice, use the legacy flow: its `state` travels with the browser.)

use std::sync::Arc;
use std::time::Duration;

use contract::{LoginError, LoginResult, Profile, Provider, SessionKey};
use rocket::{Route, State, get, head, post, routes};

use crate::app::App;
use crate::broker::CallError;
use crate::browser::Browser;
use crate::guards::{ProviderParam, SameOriginPost, SeeOther, Visit};
use crate::pages::{Problem, ProblemPage};
use crate::session::{Flow, LoginNumber, SessionRef, TakenLogin, Via};
use crate::{random, site};

/// The number of reads of one pending result in one callback.
const MAX_READS: usize = 3;

pub(crate) fn routes() -> Vec<Route> {
    routes![start, callback, callback_head]
}

// [start]
/// Starts a login.
///
/// By POST, from a form of ours: a GET could be triggered by any page's `<img>`.
/// `SameOriginPost` has refused foreign pages before we get here.
#[post("/login/<provider>")]
async fn start(
    _ours: SameOriginPost,
    provider: ProviderParam,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
) -> Result<SeeOther, ProblemPage> {
    let ProviderParam(provider) = provider;

    // A fresh key for every login: 32 random bytes. It is the proof that the
    // result is ours, so it stays on this server. Not in a page, not in a
    // cookie (not even an encrypted one), not in an address, not in a log.
    let key = SessionKey::from_random(&random::bytes());

    // Register it with the broker. When this fails, whichever way, the key is
    // dropped and the user gets a button that starts over with a new one. We don't
    // try again by ourselves: the first attempt may have arrived.
    let authorization_url = app
        .broker
        .start_session(key.clone(), provider, &app.clean_callback)
        .await
        .map_err(|error| ProblemPage::of_failed_start(&browser, error, Flow::Clean, provider))?;

    // Keep the key in the session that this browser's cookie names, and give the
    // browser a fresh cookie for this login. How the browser looks is kept with it.
    browser.keep_login(&key, provider);

    // Redirect. The address was parsed by the specification's pattern, and its
    // origin is the broker's: we redirect to nothing else.
    Ok(SeeOther::to(authorization_url.expose().to_owned()))
}

// [callback]
/// Finishes a login: the browser is back, so its result is read.
///
/// Parameters, fragments and bodies are not looked at: the flow has none, so
/// whatever is there did not come from the broker.
#[get("/callback")]
async fn callback(
    _visit: Visit,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
) -> Result<SeeOther, ProblemPage> {
    // First the cookies. A browser without a session of ours started nothing
    // here, and the broker is not called. (Nor is it asked about a login whose own
    // cookie is missing: see `take_login`.)
    let Some(session) = browser.session() else {
        return Err(ProblemPage::new(&browser, Problem::NoSession));
    };
    match wait_for_outcome(app, &browser, session).await {
        Outcome::Succeeded(profile) => {
            site::sign_in(app, &browser, session, *profile, Via::Clean).await
        }
        // Only this login failed. The user who is signed in (by another tab, or
        // since this morning) stays signed in, and the page says so.
        Outcome::Failed(provider, error) => {
            Err(problem(&browser, Problem::Failed(error), provider))
        }
        Outcome::Pending(provider) => Err(problem(&browser, Problem::Pending, provider)),
        Outcome::CallFailed(provider, error) => Err(failed_call(&browser, error, provider)),
        Outcome::NothingUnderWay => nothing_under_way(&browser, session),
    }
}

/// Answers a reload, "back", or the slower of two simultaneous requests.
fn nothing_under_way(browser: &Browser<'_>, session: SessionRef) -> Result<SeeOther, ProblemPage> {
    let has_new_id = browser.session() != Some(session) && browser.is_live(session);
    if has_new_id {
        // The faster request has signed in, so our session has a new id now. The
        // browser knows it already, or never will; either way, look again.
        Ok(SeeOther::page("/callback"))
    } else if let Some(expired) = browser.expired_login(session) {
        Err(ProblemPage::expired(browser, expired))
    } else if browser.user().is_some() {
        Ok(SeeOther::page("/profile"))
    } else {
        Err(ProblemPage::new(browser, Problem::NoSession))
    }
}

/// Answers HEAD without the handler of GET, which Rocket would run: a link checker
/// would consume the result.
#[head("/callback")]
fn callback_head() {}

/// The outcome of a visit to the callback.
enum Outcome {
    Succeeded(Box<Profile>),
    Failed(Provider, LoginError),
    /// No login has ended yet.
    Pending(Provider),
    /// A login is lost: the call was refused, or its effect is unknown.
    CallFailed(Provider, CallError),
    NothingUnderWay,
}

/// Reads the results, and while all are pending reads them again, a few times.
///
/// A result is in place before the browser is sent back, so pending is rare: the
/// user pressed "back", or another tab's login is the one that ended. We wait
/// only while this request does. Nothing polls in the background, where it could
/// collect the sign-in of a victim who was lured into it after this browser had left.
async fn wait_for_outcome(app: &App, browser: &Browser<'_>, session: SessionRef) -> Outcome {
    let mut outcome = read_newest_first(app, browser, session).await;
    for _ in 1..MAX_READS {
        if !matches!(outcome, Outcome::Pending(_)) {
            break;
        }
        pause(app.config.pending_wait).await;
        outcome = read_newest_first(app, browser, session).await;
    }
    outcome
}

/// Reads the result of each login that this browser started in this session once,
/// newest first, until one has ended.
///
/// A bare callback does not say *which* login it ends. With two tabs there are
/// two keys, and the right one is found by trying: pending keys are not
/// consumed, so reading the other tab's result costs it nothing. Newest first,
/// because the tab opened last is mostly the one that is finished first. Should
/// both have ended, each of the two callbacks finds one of them.
async fn read_newest_first(app: &App, browser: &Browser<'_>, session: SessionRef) -> Outcome {
    let mut outcome = Outcome::NothingUnderWay;
    let mut before = LoginNumber::MAX;
    while let Some(login) = browser.take_login(session, before) {
        before = login.number;
        match read(app, browser, session, login).await {
            ended @ (Outcome::Succeeded(_) | Outcome::Failed(..)) => return ended,
            // 400: expired, consumed, unknown. That login is over and says
            // nothing about the others, one of which brought us here.
            refused @ Outcome::CallFailed(_, CallError::Refused(400)) => {
                outcome = outcome.or(refused);
            }
            // Any other failure is the broker's or the network's, and would
            // happen to the next key as well: leave the others alone.
            failed @ Outcome::CallFailed(..) => return failed,
            pending => outcome = pending,
        }
    }
    outcome
}

/// Reads the result of one login, and puts back or forgets its key.
async fn read(app: &App, browser: &Browser<'_>, session: SessionRef, login: TakenLogin) -> Outcome {
    let TakenLogin {
        number,
        provider,
        key,
    } = login;
    // Another request of this browser (a reload, a double click) took the key
    // and is reading right now. Its answer is the only one there will be.
    let Some(key) = key else {
        return Outcome::Pending(provider);
    };
    let outcome = match app.broker.read_result(&key, &app.clean_callback).await {
        Ok(LoginResult::Pending) => {
            // Nothing was consumed: the next visit may read again.
            browser.with(session, |session| session.put_back(number, &key));
            return Outcome::Pending(provider);
        }
        // A profile of another provider does not answer what was asked.
        Ok(LoginResult::Succeeded { profile }) if profile.provider != provider => {
            let error = CallError::Ambiguous("the profile is of another provider");
            Outcome::CallFailed(provider, error)
        }
        Ok(LoginResult::Succeeded { profile }) => Outcome::Succeeded(Box::new(profile)),
        Ok(LoginResult::Failed { error }) => Outcome::Failed(provider, error),
        Err(error) => Outcome::CallFailed(provider, error),
    };
    // Ended, refused or lost, the key has had its one use. Also when the answer
    // was lost: the broker may have consumed the result, and if it did not, a
    // second read would still be a retry of a one-time call.
    browser.with(session, |session| session.forget_login(number));
    outcome
}
// [/]

impl Outcome {
    /// This outcome, unless it is that nothing is under way.
    fn or(self, other: Outcome) -> Outcome {
        match self {
            Outcome::NothingUnderWay => other,
            outcome => outcome,
        }
    }
}

async fn pause(wait: Duration) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a user waits for this answer: twice at most, and briefly"
    )]
    tokio::time::sleep(wait).await;
}

fn problem(browser: &Browser<'_>, problem: Problem, provider: Provider) -> ProblemPage {
    ProblemPage::of_login(browser, problem, Flow::Clean, provider)
}

fn failed_call(browser: &Browser<'_>, error: CallError, provider: Provider) -> ProblemPage {
    ProblemPage::of_failed_call(browser, error, Flow::Clean, provider)
}

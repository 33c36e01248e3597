//! The clean callback flow, which the specification recommends.
//!
//! ```text
//! browser            this application              broker
//!    │ POST /login/google    │                        │
//!    ├──────────────────────►│ POST /v1/login/session │   1. a fresh key, kept here
//!    │                       ├───────────────────────►│
//!    │ 303 authorization_url │◄───────────────────────┤
//!    │◄──────────────────────┤                        │      … and a fresh cookie there
//!    │                                                │   2. the person signs in
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
//! attacker may have planted it, and could ask `/callback` in a loop until the
//! victim's result is there.
//!
//! (Whoever starts a login may also hand its `authorization_url` to another person
//! and collect their sign-in. The broker watches where a navigation begins, which
//! is why a login starts by a form on *our* page. Where that does not suffice, use
//! the legacy flow: its `state` travels with the browser.)

use std::sync::Arc;
use std::time::Duration;

use contract::{LoginError, LoginResult, Profile, Provider, SessionKey};
use rocket::{Route, State, get, head, post, routes};

use crate::broker::Failure;
use crate::browser::Browser;
use crate::guards::{OwnForm, ProviderParam, SeeOther, Visit};
use crate::pages::{Flow, Page, Problem};
use crate::session::{Claim, LoginNumber, SessionRef, Via};
use crate::{App, chance, site};

/// How often one key is asked about in one callback, when it is still pending.
const MAX_READS: usize = 3;

pub(crate) fn routes() -> Vec<Route> {
    routes![start, callback, callback_head]
}

/// Starts a login.
///
/// By POST, from a form of ours: a GET could be triggered by any page's `<img>`.
/// `OwnForm` has refused foreign pages before we get here.
#[post("/login/<provider>")]
async fn start(
    _ours: OwnForm,
    provider: ProviderParam,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
) -> Result<SeeOther, Page> {
    let ProviderParam(provider) = provider;

    // A fresh key for every login: 32 random bytes. It is the proof that the
    // result is ours, so it stays on this server. Not in a page, not in a
    // cookie (not even an encrypted one), not in an address, not in a log.
    let key = SessionKey::from_random(&chance::bytes());

    // Tell the broker. When this fails, whichever way, the key is dropped and
    // the person gets a button that starts over with a new one. We don't try
    // again by ourselves: the first attempt may have arrived.
    let authorization_url = app
        .broker
        .start_session(key.clone(), provider, &app.clean_callback)
        .await
        .map_err(|failure| lost(&browser, failure, provider))?;

    // Keep the key in the session that this browser's cookie names, and give the
    // browser a fresh cookie for this login.
    browser.keep_login(key, provider);

    // Off it goes. The client parsed the address as the specification's shape
    // and, when configured, compared its origin: we redirect to nothing else.
    Ok(SeeOther::to(authorization_url.expose().to_owned()))
}

/// The person is back; how did it go?
///
/// Parameters, fragments and bodies are not looked at: the flow has none, so
/// whatever is there did not come from the broker.
#[get("/callback")]
async fn callback(
    _person: Visit,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
) -> Result<SeeOther, Page> {
    // First the cookies. Without a session of ours this browser started nothing
    // here, and the broker is not asked. (Nor is it asked about a login whose own
    // cookie is missing: see `claim_login`.)
    let Some(session) = browser.session() else {
        return Err(Page::problem(&browser, Problem::NoSession));
    };
    match ask_for_a_while(app, &browser, session).await {
        Verdict::Succeeded(profile) => {
            site::sign_in(app, &browser, session, *profile, Via::Clean).await
        }
        // Only this login failed. Who is signed in (by another tab, or since
        // this morning) stays signed in, and the page says so.
        Verdict::Failed(provider, error) => Err(page(&browser, Problem::Failed(error), provider)),
        Verdict::Pending(provider) => Err(page(&browser, Problem::Pending, provider)),
        Verdict::CallFailed(provider, failure) => Err(lost(&browser, failure, provider)),
        Verdict::NothingUnderWay => after_all_is_done(&browser, session),
    }
}

/// A reload, "back", or two requests of which the other one was faster.
fn after_all_is_done(browser: &Browser<'_>, session: SessionRef) -> Result<SeeOther, Page> {
    let is_renamed = browser.session() != Some(session) && browser.is_live(session);
    if is_renamed {
        // The faster one has signed in, so our session has a new name now. The
        // browser knows it already, or never will; either way, look again.
        Ok(SeeOther::page("/callback"))
    } else if browser.visitor().is_some() {
        Ok(SeeOther::page("/profile"))
    } else {
        Err(Page::problem(browser, Problem::NoSession))
    }
}

/// Rocket would answer HEAD with the handler of GET, and consume the result for
/// a link checker.
#[head("/callback")]
fn callback_head() {}

/// What a visit to the callback came to.
enum Verdict {
    Succeeded(Box<Profile>),
    Failed(Provider, LoginError),
    /// Nothing has ended yet.
    Pending(Provider),
    /// A login is lost: refused, or nobody knows.
    CallFailed(Provider, Failure),
    NothingUnderWay,
}

/// Asks, and while all is pending asks again, a few times.
///
/// A result is in place before the browser is sent back, so pending is rare: a
/// person pressed "back", or another tab's login is the one that ended. We wait
/// only while they do. Nothing polls in the background, where it could collect
/// the sign-in of someone who was talked into it after this browser had left.
async fn ask_for_a_while(app: &App, browser: &Browser<'_>, session: SessionRef) -> Verdict {
    let mut verdict = ask_each(app, browser, session).await;
    for _ in 1..MAX_READS {
        if !matches!(verdict, Verdict::Pending(_)) {
            break;
        }
        pause(app.config.pending_wait).await;
        verdict = ask_each(app, browser, session).await;
    }
    verdict
}

/// Asks about each login that this browser started in this session once, newest
/// first, until one has ended.
///
/// A bare callback does not say *which* login it ends. With two tabs there are
/// two keys, and the right one is found by asking: pending keys are not
/// consumed, so asking about the other tab's costs it nothing. Newest first,
/// because the tab opened last is mostly the one that is finished first. Should
/// both have ended, each of the two callbacks finds one of them.
async fn ask_each(app: &App, browser: &Browser<'_>, session: SessionRef) -> Verdict {
    let mut verdict = Verdict::NothingUnderWay;
    let mut before = LoginNumber::NEWEST;
    while let Some(claim) = browser.claim_login(session, before) {
        before = claim.number;
        match ask(app, browser, session, claim).await {
            ended @ (Verdict::Succeeded(_) | Verdict::Failed(..)) => return ended,
            // 400: expired, consumed, unknown. That login is over and says
            // nothing about the others, one of which brought us here.
            refused @ Verdict::CallFailed(_, Failure::Refused(400)) => {
                verdict = verdict.or(refused);
            }
            // Any other failure is the broker's or the network's, and would
            // only meet the next key as well: leave the others alone.
            failed @ Verdict::CallFailed(..) => return failed,
            pending => verdict = pending,
        }
    }
    verdict
}

/// Asks about one login, and says what that means for its key.
async fn ask(app: &App, browser: &Browser<'_>, session: SessionRef, claim: Claim) -> Verdict {
    let Claim {
        number,
        provider,
        key,
    } = claim;
    // Another request of this browser (a reload, a double click) took the key
    // and is asking right now. Its answer is the only one there will be.
    let Some(key) = key else {
        return Verdict::Pending(provider);
    };
    let verdict = match app.broker.read_result(&key, &app.clean_callback).await {
        Ok(LoginResult::Pending) => {
            // Nothing was consumed: the next visit may ask again.
            browser.with(session, |session| session.put_back(number, key));
            return Verdict::Pending(provider);
        }
        Ok(LoginResult::Succeeded { profile }) => Verdict::Succeeded(Box::new(profile)),
        Ok(LoginResult::Failed { error }) => Verdict::Failed(provider, error),
        Err(failure) => Verdict::CallFailed(provider, failure),
    };
    // Ended, refused or lost, the key has had its one use. Also when the answer
    // was lost: the broker may have consumed the result, and if it did not, a
    // second read would still be a retry of a one-time call.
    browser.with(session, |session| session.forget_login(number));
    verdict
}

impl Verdict {
    /// This one, unless it is that nothing is under way.
    fn or(self, other: Verdict) -> Verdict {
        match self {
            Verdict::NothingUnderWay => other,
            verdict => verdict,
        }
    }
}

async fn pause(wait: Duration) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a person waits for this answer: twice at most, and briefly"
    )]
    tokio::time::sleep(wait).await;
}

fn page(browser: &Browser<'_>, problem: Problem, provider: Provider) -> Page {
    Page::problem_of(browser, problem, Flow::Clean, provider)
}

fn lost(browser: &Browser<'_>, failure: Failure, provider: Provider) -> Page {
    Page::failure_of(browser, failure, Flow::Clean, provider)
}

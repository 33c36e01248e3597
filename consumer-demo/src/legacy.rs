//! The legacy browser authorization flow: an authorization code with PKCE.
//!
//! ```text
//! browser            this application              broker
//!    │ POST /legacy/login/…  │                        │   1. a Transaction: state and
//!    ├──────────────────────►│                        │      verifier, kept here
//!    │ 303 /authorize?…      │                        │
//!    │◄──────────────────────┤                        │   2. the person signs in
//!    ├────────────── … the provider … ───────────────►│
//!    │ 303 /legacy/callback?code&state                │
//!    │◄───────────────────────────────────────────────┤
//!    │ GET /legacy/callback  │                        │   3. the Transaction is consumed
//!    ├──────────────────────►│ POST /v1/token         │   4. the code, once
//!    │                       │ GET  /v1/profile       │   5. who it is
//!    │ 303 /profile, new cookie                       │
//!    │◄──────────────────────┤                        │
//! ```
//!
//! More moving parts than the clean flow, and one advantage: the callback brings
//! `state` back through the browser. A person who was tricked into finishing
//! somebody else's login arrives with a state that their own session does not
//! know, and is turned away.

use std::sync::Arc;

use contract::{CodeVerifier, LoginError, Provider, State as LoginState, Transaction};
use rocket::{Route, State, get, head, post, routes};
use url::Url;

use crate::broker::Failure;
use crate::browser::Browser;
use crate::guards::{Answer, OwnForm, ProviderParam, Returned, SeeOther, Visit};
use crate::pages::{Flow, Page, Problem};
use crate::session::{LegacyLogin, Via, seconds};
use crate::{App, chance, site};

pub(crate) fn routes() -> Vec<Route> {
    routes![start, callback, callback_head]
}

/// Starts a login. By POST, for the same reason as in the clean flow.
#[post("/legacy/login/<provider>")]
fn start(
    _ours: OwnForm,
    provider: ProviderParam,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
) -> SeeOther {
    let ProviderParam(provider) = provider;

    // Two secrets, from two draws. `state` will come back with the browser and
    // tell us that this browser began this login. The verifier stays here; only
    // its hash, the challenge, goes out. Whoever catches the code on its way
    // can't redeem it without the verifier.
    let transaction = Transaction::begin(
        LoginState::from_random(&chance::bytes()),
        CodeVerifier::from_random(&chance::bytes()),
        seconds(browser.now_ms),
    );
    let address = authorize_url(app, provider, &transaction);

    // In the session of the browser that starts, before it leaves.
    browser.keep_transaction(LegacyLogin {
        transaction,
        provider,
    });
    SeeOther::to(address.into())
}

/// `GET /authorize`, with everything that it needs and no client secret.
///
/// Built by a URL library from pairs: text glued together is how a parameter
/// turns into two.
fn authorize_url(app: &App, provider: Provider, transaction: &Transaction) -> Url {
    let mut url = Url::parse(app.config.signin_base_url.as_str()).expect("an origin is a URL");
    url.set_path("/authorize");
    url.query_pairs_mut()
        .append_pair("client_id", app.config.client_id.as_str())
        .append_pair("redirect_uri", app.legacy_callback.as_str())
        .append_pair("provider", provider.as_str())
        .append_pair("state", transaction.state.expose())
        .append_pair("code_challenge", transaction.code_challenge.as_str())
        .append_pair("code_challenge_method", "S256");
    url
}

/// The person is back, with `code` and `state`, or `error` and `state`.
#[get("/legacy/callback")]
async fn callback(
    _person: Visit,
    returned: Returned,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
) -> Result<SeeOther, Page> {
    // First the cookie, as in the clean flow.
    let Some(session) = browser.session() else {
        return Err(Page::problem(&browser, Problem::NoSession));
    };

    // Then the transaction. It is *consumed* before anything else is looked at:
    // whether the rest is a code, an error or nonsense, this state is never
    // accepted again. An unknown state (another browser's, expired, replayed,
    // absent, doubled) ends here, without a call to the broker.
    let login = returned
        .state
        .and_then(|state| browser.with(session, |session| session.consume_transaction(&state))?);
    let Some(login) = login else {
        return Err(Page::problem(&browser, Problem::Refused));
    };
    let provider = login.provider;

    let code = match returned.answer {
        Answer::Code(code) => code,
        Answer::Error(error) => return Err(page(&browser, told(&error), provider)),
        Answer::Unreadable => return Err(page(&browser, Problem::Refused, provider)),
    };

    // The exchange: code, verifier and the client secret, in a body, backend to
    // backend. Once. When the answer is lost, the code may have been redeemed;
    // sending it again would look like a stolen one and end the first token.
    let token = app
        .broker
        .redeem(code, login.transaction.code_verifier, &app.legacy_callback)
        .await
        .map_err(|failure| lost(&browser, failure, provider))?;

    // The token's one use is right here; it lives for 900 seconds only. When
    // the profile doesn't come, there is nobody to sign in.
    let profile = match app.broker.profile(&token).await {
        Ok(profile) => profile,
        Err(failure) => {
            app.broker.revoke(&token).await;
            return Err(lost(&browser, failure, provider));
        }
    };

    // The token stays in the session, so that signing out can revoke it.
    site::sign_in(app, &browser, session, profile, Via::Legacy(token)).await
}

/// See the clean flow's: HEAD must not consume.
#[head("/legacy/callback")]
fn callback_head() {}

/// The broker's three words for a failed login. Any other is not shown to the
/// person: a page must not repeat what an address says.
fn told(error: &str) -> Problem {
    LoginError::ALL
        .into_iter()
        .find(|known| known.as_str() == error)
        .map_or(Problem::Refused, Problem::Failed)
}

fn page(browser: &Browser<'_>, problem: Problem, provider: Provider) -> Page {
    Page::problem_of(browser, problem, Flow::Legacy, provider)
}

fn lost(browser: &Browser<'_>, failure: Failure, provider: Provider) -> Page {
    Page::failure_of(browser, failure, Flow::Legacy, provider)
}

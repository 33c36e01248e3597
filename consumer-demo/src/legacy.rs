//! The legacy browser authorization flow: an authorization code with PKCE.
//!
//! ```text
//! browser            this application              broker
//!    │ POST /legacy/login/…  │                        │   1. a Transaction: state and
//!    ├──────────────────────►│                        │      verifier, kept here
//!    │ 303 /authorize?…      │                        │
//!    │◄──────────────────────┤                        │   2. the user signs in
//!    ├────────────── … the provider … ───────────────►│
//!    │ 303 /legacy/callback?code&state                │
//!    │◄───────────────────────────────────────────────┤
//!    │ GET /legacy/callback  │                        │   3. the Transaction is consumed
//!    ├──────────────────────►│ POST /v1/token         │   4. the code, once
//!    │                       │ GET  /v1/profile       │   5. the user's profile
//!    │ 303 /profile, new cookie                       │
//!    │◄──────────────────────┤                        │
//! ```
//!
//! More moving parts than the clean flow, and one advantage: the callback brings
//! `state` back through the browser. A victim who was tricked into finishing an
//! attacker's login arrives with a state that their own session does not know, and
//! is refused.

use std::sync::Arc;

use contract::{CodeVerifier, LoginError, Provider, State as LoginState, Transaction};
use rocket::{Route, State, get, head, post, routes};
use url::Url;

use crate::app::App;
use crate::broker::CallError;
use crate::browser::Browser;
use crate::guards::{
    AuthorizationResponse, CodeOrError, ProviderParam, SameOriginPost, SeeOther, Visit,
};
use crate::pages::{Problem, ProblemPage};
use crate::session::{Flow, LegacyLogin, Via, seconds};
use crate::{random, site};

pub(crate) fn routes() -> Vec<Route> {
    routes![start, callback, callback_head]
}

// [start_legacy]
/// Starts a login. By POST, for the same reason as in the clean flow.
#[post("/legacy/login/<provider>")]
fn start(
    _ours: SameOriginPost,
    provider: ProviderParam,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
) -> SeeOther {
    let ProviderParam(provider) = provider;

    // Two secrets, from two draws. `state` will come back with the browser and
    // prove that this browser began this login. The verifier stays here; only
    // its hash, the challenge, goes out. An attacker who intercepts the code
    // can't redeem it without the verifier.
    let transaction = Transaction::begin(
        LoginState::from_random(&random::bytes()),
        CodeVerifier::from_random(&random::bytes()),
        seconds(browser.now_ms),
    );
    let address = authorize_url(app, provider, &transaction);

    // Keep it in this browser's session before the browser leaves, and how the browser
    // looks: `BrowserLook` in `cookies.rs` says why.
    browser.keep_transaction(&LegacyLogin {
        transaction,
        provider,
        look: browser.look,
    });
    SeeOther::to(address.into())
}

/// `GET /authorize`, with everything that it needs and no client secret.
///
/// Built by a URL library from pairs: concatenated text is how one parameter
/// turns into two.
fn authorize_url(app: &App, provider: Provider, transaction: &Transaction) -> Url {
    let mut url = Url::parse(app.config.authorization_origin.as_str()).expect("an origin is a URL");
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

// [callback_legacy]
/// Finishes a login: the browser is back with `code` and `state`, or `error` and
/// `state`.
#[get("/legacy/callback")]
async fn callback(
    _visit: Visit,
    response: AuthorizationResponse,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
) -> Result<SeeOther, ProblemPage> {
    // First the cookie, as in the clean flow.
    let Some(session) = browser.session() else {
        return Err(ProblemPage::new(&browser, Problem::NoSession));
    };

    // Then the transaction. It is *consumed* before anything else is looked at:
    // whether the rest is a code, an error or nonsense, this state is never
    // accepted again. An unknown state (another browser's, expired, replayed,
    // absent, doubled) ends here, without a call to the broker.
    let login = response
        .state
        .and_then(|state| browser.consume_transaction(session, &state));
    let Some(login) = login else {
        return Err(match browser.expired_login(session) {
            Some(expired) => ProblemPage::expired(&browser, expired),
            None => ProblemPage::new(&browser, Problem::Refused),
        });
    };
    let provider = login.provider;

    let code = match response.code_or_error {
        CodeOrError::Code(code) => code,
        CodeOrError::Error(error) => return Err(problem(&browser, problem_of(&error), provider)),
        CodeOrError::Malformed => return Err(problem(&browser, Problem::Refused, provider)),
    };

    // The exchange: code, verifier and the client secret, in a body, backend to
    // backend. Once. When the answer is lost, the code may have been redeemed;
    // sending it again would look like a stolen one and end the first token.
    let token = app
        .broker
        .redeem(code, login.transaction.code_verifier, &app.legacy_callback)
        .await
        .map_err(|error| failed_call(&browser, error, provider))?;

    // The token's one use is right here; it lives for 900 seconds only. Without a
    // profile there is no user to sign in, and the token is revoked.
    let profile = match app.broker.profile(&token).await {
        Ok(profile) if profile.provider == provider => profile,
        other => {
            app.broker.revoke(&token).await;
            // A profile of another provider does not answer what was asked.
            let wrong = CallError::Ambiguous("the profile is of another provider");
            let error = other.err().unwrap_or(wrong);
            return Err(failed_call(&browser, error, provider));
        }
    };

    // The token stays in the session, so that signing out can revoke it.
    site::sign_in(app, &browser, session, profile, Via::Legacy(token)).await
}
// [/]

/// Answers HEAD without consuming anything, as in the clean flow.
#[head("/legacy/callback")]
fn callback_head() {}

/// The problem for an `error` of the broker, one of three words. Any other is not
/// shown to the user: a page must not repeat text from an address.
fn problem_of(error: &str) -> Problem {
    LoginError::ALL
        .into_iter()
        .find(|known| known.as_str() == error)
        .map_or(Problem::Refused, Problem::Failed)
}

fn problem(browser: &Browser<'_>, problem: Problem, provider: Provider) -> ProblemPage {
    ProblemPage::of_login(browser, problem, Flow::Legacy, provider)
}

fn failed_call(browser: &Browser<'_>, error: CallError, provider: Provider) -> ProblemPage {
    ProblemPage::of_failed_call(browser, error, Flow::Legacy, provider)
}

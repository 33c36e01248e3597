//! A login by either flow, for tests that hold in both.

use serde_json::{Value, json};
use url::Url;

use crate::backend::{Backend, CleanLogin, LegacyLogin};
use crate::http::REFUSED;

/// The two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The clean callback.
    Clean,
    /// The legacy browser authorization.
    Legacy,
}

/// Both flows.
pub const FLOWS: [Flow; 2] = [Flow::Clean, Flow::Legacy];
/// The id of Google.
pub const GOOGLE: &str = "google";
/// The id of GitHub.
pub const GITHUB: &str = "github";
/// Both providers.
pub const PROVIDERS: [&str; 2] = [GOOGLE, GITHUB];

/// The state that a backend keeps of a login that it started.
#[derive(Debug, Clone)]
pub enum StartedLogin {
    /// By the clean flow.
    Clean(CleanLogin),
    /// By the legacy flow.
    Legacy(LegacyLogin),
}

/// The outcome of a login, by either flow.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The user's profile.
    Profile(Value),
    /// The word of the error.
    Error(String),
}

impl Flow {
    /// Starts a login at `provider`.
    pub async fn start(self, backend: &Backend, provider: &str) -> StartedLogin {
        match self {
            Self::Clean => StartedLogin::Clean(backend.start_login(provider).await),
            Self::Legacy => StartedLogin::Legacy(backend.start_authorization(provider)),
        }
    }
}

impl StartedLogin {
    /// The address at which the browser starts.
    pub fn url(&self) -> &str {
        match self {
            Self::Clean(login) => &login.authorization_url,
            Self::Legacy(transaction) => &transaction.url,
        }
    }

    /// The outcome of the login, for a browser that was redirected to `url`.
    /// Asserts that it came to the exact callback, with nothing on it that does
    /// not belong there, and that the outcome can be read once.
    ///
    /// # Panics
    ///
    /// If one of these is not so.
    pub async fn outcome(&self, backend: &Backend, url: &str) -> Outcome {
        match self {
            Self::Clean(login) => {
                assert_eq!(url, backend.callback);
                clean_outcome(backend, login).await
            }
            Self::Legacy(transaction) => match callback_answer(backend, transaction, url) {
                Ok(code) => legacy_outcome(backend, transaction, &code).await,
                Err(error) => Outcome::Error(error),
            },
        }
    }
}

async fn clean_outcome(backend: &Backend, login: &CleanLogin) -> Outcome {
    let response = backend.result(&login.session_key).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let mut result = response.json();
    backend.result(&login.session_key).await.is(400, REFUSED);
    match result["status"].as_str() {
        Some("succeeded") => {
            let profile = result["profile"].take();
            assert_eq!(result, json!({ "status": "succeeded", "profile": null }));
            Outcome::Profile(profile)
        }
        Some("failed") => {
            let error = result["error"].as_str().expect("a word").to_owned();
            assert_eq!(result, json!({ "status": "failed", "error": error }));
            Outcome::Error(error)
        }
        _ => panic!("the login has not ended: {result}"),
    }
}

async fn legacy_outcome(backend: &Backend, transaction: &LegacyLogin, code: &str) -> Outcome {
    let token = backend.token(transaction, code).await;
    let response = backend.profile(&token).await;
    assert_eq!(response.status, 200, "{}", response.text());
    Outcome::Profile(response.json())
}

/// The code, or else the error, that a legacy callback carries.
///
/// # Panics
///
/// If it carries neither, or anything else.
#[track_caller]
pub fn callback_answer(
    backend: &Backend,
    transaction: &LegacyLogin,
    url: &str,
) -> Result<String, String> {
    let parsed = Url::parse(url).expect("a URL");
    let pairs: Vec<_> = parsed.query_pairs().into_owned().collect();
    let [(name, value), (_, _)] = &pairs[..] else {
        panic!("not two parameters: {url}");
    };
    let exact = format!(
        "{}?{name}={value}&state={}",
        backend.callback, transaction.state
    );
    assert_eq!(url, exact);
    match name.as_str() {
        "code" => Ok(value.clone()),
        "error" => Err(value.clone()),
        _ => panic!("neither code nor error: {url}"),
    }
}

/// The code that a legacy callback carries.
///
/// # Panics
///
/// If it carries none, or anything else.
#[track_caller]
pub fn callback_code(backend: &Backend, transaction: &LegacyLogin, url: &str) -> String {
    callback_answer(backend, transaction, url).expect("a code")
}

impl Outcome {
    /// The profile.
    ///
    /// # Panics
    ///
    /// If the login has failed.
    #[track_caller]
    pub fn profile(self) -> Value {
        match self {
            Self::Profile(profile) => profile,
            Self::Error(error) => panic!("it failed: {error}"),
        }
    }

    /// Asserts that the default user signed in at `provider`.
    ///
    /// # Panics
    ///
    /// If not.
    #[track_caller]
    pub fn is_ada(&self, provider: &str) {
        let profile = self.clone().profile();
        assert_eq!(profile["name"], "Ada Lovelace");
        assert_eq!(profile["provider"], provider);
    }

    /// Asserts that the login has failed with this word.
    ///
    /// # Panics
    ///
    /// If not.
    #[track_caller]
    pub fn is_error(&self, expected: &str) {
        assert_eq!(*self, Self::Error(expected.to_owned()));
    }
}

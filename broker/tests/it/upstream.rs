//! The broker as a client of Google and GitHub: its calls, and its handling of any
//! response. The providers here are servers on raw sockets. Ada signs in at both, unless a
//! test sets another reply. The private keys in `keys/` are for these tests alone.
//!
//! `b05_…` is the fifth check of this side in the threat catalogue; `e2e/THREATS.md`
//! lists the tests of each check.

mod availability;
mod callback;
mod credentials;
mod documents;
mod errors;
mod id_token;
mod keys;
mod limits;
mod login;
mod online;
mod server;
mod users;

use broker::clock::Clock;
use broker::config::Config;
use broker::model::UnixMs;
use contract::Provider::{self, GitHub, Google};
use documents::adas_github_emails;
pub(crate) use documents::{
    ACCESS_TOKEN, DISCOVERY, EMAILS, KEY_ONE, KEY_TWO, KEYS, OUR_SECRET, TOKEN, USER,
    adas_github_user, discovery_document, github_config, github_token, google_config, jwk, key_set,
    signing_key, token, token_signed_by,
};
pub(crate) use login::{StartedLogin, adas_claims};
use serde_json::Value;
pub(crate) use server::{ENDLESS_BYTES, FakeProvider, Reply};

use crate::test_broker::{
    CALLBACK, TestBroker, authorize_query, authorize_with, session_body, state, with,
};

pub(crate) struct FakeProviders {
    pub(crate) broker: TestBroker,
    pub(crate) google: FakeProvider,
    pub(crate) github: FakeProvider,
}

impl FakeProviders {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| ()).await
    }

    /// Starts them with a broker whose configuration is changed.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_by(Clock::system(), change).await
    }

    /// Starts them with a broker whose clock moves only when a test moves it.
    pub(crate) async fn start_with_fixed_clock() -> Self {
        let clock = Clock::fixed_at(UnixMs(1_790_000_000_000));
        Self::start_by(clock, |_| ()).await
    }

    async fn start_by(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let google = FakeProvider::start().await;
        prepare_google(&google);
        let broker = TestBroker::start_on(clock, |config| {
            config.upstream.google = Some(google_config(&google.url()));
            change(config);
        })
        .await;
        Self {
            github: broker.github.clone(),
            broker,
            google,
        }
    }

    pub(crate) fn get(&self, provider: Provider) -> &FakeProvider {
        match provider {
            Google => &self.google,
            GitHub => &self.github,
        }
    }

    /// Starts a clean login.
    pub(crate) async fn start_login(&self, provider: Provider, key: u8) -> StartedLogin<'_> {
        let body = with(session_body(key), "provider", provider.as_str());
        let path = self.broker.session_with(&body).await;
        StartedLogin::at(self, provider, &path).await
    }

    /// Starts a legacy login.
    pub(crate) async fn start_legacy_login(&self, provider: Provider) -> StartedLogin<'_> {
        let mut query = authorize_query();
        query[2].1 = provider.to_string();
        StartedLogin::at(self, provider, &authorize_with(&query)).await
    }

    /// The outcome of a legacy login.
    pub(crate) async fn log_in(&self, provider: Provider) -> LegacyResult {
        self.return_with(provider, "code=a-code").await
    }

    /// The outcome of a legacy login whose browser returns with this query.
    pub(crate) async fn return_with(&self, provider: Provider, query: &str) -> LegacyResult {
        let login = self.start_legacy_login(provider).await;
        login.finish(query).await
    }

    /// The outcome of a legacy login while the usual reply at `path` is changed.
    pub(crate) async fn log_in_where(
        &self,
        provider: Provider,
        path: &str,
        change: impl Fn(Reply) -> Reply,
    ) -> LegacyResult {
        let server = self.get(provider);
        let set = || server.set_reply(path, change(server.reply(path)));
        // The token is Google's own for each login that has started.
        if path == DISCOVERY {
            set();
        }
        let login = self.start_legacy_login(provider).await;
        if path != DISCOVERY {
            set();
        }
        login.finish("code=a-code").await
    }

    /// The outcome of a legacy login while `path` is answered with `reply`.
    pub(crate) async fn log_in_with(
        &self,
        provider: Provider,
        path: &str,
        reply: &Reply,
    ) -> LegacyResult {
        self.log_in_where(provider, path, |_| reply.clone()).await
    }

    /// The outcome of a legacy login in which Google returns the token that `make` returns.
    pub(crate) async fn log_in_by(
        &self,
        make: impl FnOnce(&StartedLogin<'_>) -> String,
    ) -> LegacyResult {
        let login = self.start_legacy_login(Google).await;
        login.google_returns_token(&make(&login));
        login.finish("code=a-code").await
    }

    /// Signs Ada in through the clean flow.
    pub(crate) async fn sign_in(&self, provider: Provider, key: u8) -> LoginResult {
        let login = self.start_login(provider, key).await;
        login
            .return_with("code=a-code")
            .await
            .redirects_to(CALLBACK);
        self.result(key).await
    }

    /// Reads the result of a clean login.
    pub(crate) async fn result(&self, key: u8) -> LoginResult {
        let result = self.broker.result(key).await;
        assert_eq!(result.status, 200, "{result:?}");
        let result = result.json();
        match (&result["profile"], &result["error"]) {
            (profile, Value::Null) if profile.is_object() => Ok(profile.clone()),
            (Value::Null, Value::String(error)) => Err(error.clone()),
            _ => panic!("{result}"),
        }
    }

    pub(crate) async fn is_available(&self, provider: Provider) -> bool {
        let statuses = self.broker.get("/api/providers").await.json();
        let mut statuses = statuses.as_array().unwrap().iter();
        let status = statuses.find(|it| it["id"] == provider.as_str()).unwrap();
        status["available"].as_bool().unwrap()
    }

    /// The last failure of a provider in the audit log.
    pub(crate) fn last_failure(&self) -> Option<&'static str> {
        let events = self.broker.events();
        events.iter().rev().find_map(|event| event.why)
    }
}

pub(crate) fn prepare_google(server: &FakeProvider) {
    let discovery = discovery_document(&server.url());
    server.set_reply(DISCOVERY, Reply::json(&discovery));
    server.set_reply(KEYS, key_set(&[jwk("one", KEY_ONE)]));
}

/// Lets Ada sign in with any code.
pub(crate) fn prepare_github(server: &FakeProvider) {
    server.set_reply(TOKEN, github_token());
    server.set_reply(USER, Reply::json(&adas_github_user()));
    server.set_reply(EMAILS, Reply::json(&adas_github_emails()));
}

/// The code that the consumer gets, or the error.
pub(crate) type LegacyResult = Result<String, String>;

/// The profile of the user, or the error.
pub(crate) type LoginResult = Result<Value, String>;

pub(crate) fn failed_with(error: &str) -> LoginResult {
    Err(error.to_owned())
}

/// The callback URL of a legacy login that failed.
pub(crate) fn legacy_error(error: &str) -> String {
    format!("{CALLBACK}?error={error}&state={}", state())
}

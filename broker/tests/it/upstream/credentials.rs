//! A provider that refuses our own client credentials: the operator sees it in the log.

use contract::Provider::{GitHub, Google};
use serde_json::json;
use tracing::Dispatch;

use super::providers::{FakeProviders, Reply, TOKEN, failed_with};
use crate::test_broker::CALLBACK;

const JSON: &str = "application/json";

#[tokio::test]
async fn wrong_client_credentials_are_an_error_in_the_log_without_a_secret() {
    let lines = Lines::default();
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(lines.clone())
        .finish();
    // With only one subscriber, a log statement that another test reaches first would
    // be disabled for all threads, because the thread of that test has none.
    let _second = Dispatch::new(
        tracing_subscriber::fmt()
            .with_writer(std::io::sink)
            .finish(),
    );
    let _guard = tracing::subscriber::set_default(log);
    client_credentials_are_refused().await;
    let log = lines.text();
    for provider in ["google", "github"] {
        let errors = log.lines().filter(|line| {
            line.contains("ERROR")
                && line.contains(&format!("provider={provider}"))
                && line.contains(&format!("upstream.{provider}.client_id and .client_secret"))
        });
        assert_eq!(errors.count(), REFUSING.len(), "{log}");
    }
    assert!(
        !log.contains("OurSecret") && !log.contains("a-code"),
        "{log}"
    );
}

/// The statuses with which a provider may refuse our credentials.
const REFUSING: [u16; 8] = [200, 400, 401, 403, 404, 422, 429, 503];

async fn client_credentials_are_refused() {
    let providers = FakeProviders::start().await;
    for (key, status) in (1..).zip(REFUSING) {
        let refused = |error: &str| Reply::of(status, JSON, json!({ "error": error }).to_string());
        providers
            .github
            .set_reply(TOKEN, refused("incorrect_client_credentials"));
        let outcome = providers.sign_in(GitHub, key).await;
        assert_eq!(outcome, failed_with("provider_unavailable"), "{status}");
        let login = providers.start_login(Google, key + 100).await;
        providers.google.set_reply(TOKEN, refused("invalid_client"));
        login
            .return_with("code=a-code")
            .await
            .redirects_to(CALLBACK);
        let outcome = providers.result(key + 100).await;
        assert_eq!(outcome, failed_with("provider_unavailable"), "{status}");
    }
}

/// The lines that were logged on this thread.
#[derive(Clone, Default)]
struct Lines(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

//! A provider that refuses our own client credentials: the operator sees it in the log.

use contract::Provider::{GitHub, Google};
use serde_json::json;
use tracing::Dispatch;

use super::providers::{FakeProviders, OUR_SECRET, Reply, TOKEN};

const JSON: &str = "application/json";

#[tokio::test]
async fn wrong_client_credentials_are_an_error_in_the_log_without_a_secret() {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
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
        !log.contains(OUR_SECRET) && !log.contains("a-code"),
        "{log}"
    );
}

/// The statuses with which a provider may refuse our credentials.
const REFUSING: [u16; 8] = [200, 400, 401, 403, 404, 422, 429, 503];

async fn client_credentials_are_refused() {
    let providers = FakeProviders::start().await;
    for status in REFUSING {
        for (provider, error) in [
            (GitHub, "incorrect_client_credentials"),
            (Google, "invalid_client"),
        ] {
            let reply = Reply::of(status, JSON, json!({ "error": error }).to_string());
            let result = providers.log_in_with(provider, TOKEN, &reply).await;
            assert_eq!(result.unwrap_err(), "provider_unavailable", "{status}");
        }
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

//! A provider that refuses our own client credentials: the operator sees it in the log.

use contract::Provider::{GitHub, Google};
use serde_json::json;

use super::{FakeProvider, OUR_SECRET, Reply, TOKEN, prepare_google};
use crate::installation::Installation;
use crate::test_broker::{authorize_path, parameter};

/// The statuses with which a provider may refuse our credentials.
const REFUSING: [u16; 8] = [200, 400, 401, 403, 404, 422, 429, 503];

#[tokio::test]
async fn wrong_client_credentials_are_an_error_in_the_log_without_a_secret() {
    let (google, github) = (FakeProvider::start().await, FakeProvider::start().await);
    prepare_google(&google);
    let installation = Installation::new();
    let broker = installation.serve_with(&[
        ("BROKER_UPSTREAM__GOOGLE__CLIENT_ID", "us"),
        ("BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET", OUR_SECRET),
        ("BROKER_UPSTREAM__GOOGLE__ISSUER", &google.url()),
        ("BROKER_UPSTREAM__GITHUB__CLIENT_SECRET", OUR_SECRET),
        ("BROKER_UPSTREAM__GITHUB__WEB_URL", &github.url()),
        ("BROKER_UPSTREAM__GITHUB__API_URL", &github.url()),
    ]);
    let refusals = [
        (GitHub, &github, "incorrect_client_credentials"),
        (Google, &google, "invalid_client"),
    ];
    for status in REFUSING {
        for (provider, server, error) in refusals {
            let body = json!({ "error": error }).to_string();
            server.set_reply(TOKEN, Reply::of(status, "application/json", body));
            let (browser, own) = (broker.browser(), provider.as_str());
            let path = authorize_path().replace("github", own);
            let back = browser.to_provider(&path).await.replace("github", own);
            let returned = browser.get(&back).await;
            let error = parameter(returned.location().unwrap(), "error");
            assert_eq!(error.as_deref(), Some("provider_unavailable"), "{status}");
        }
    }
    let log = broker.kill();
    for (provider, ..) in refusals {
        let names = format!("upstream.{provider}.client_id and .client_secret");
        let errors = log.lines().filter(|line| line.contains(&names));
        let errors = errors.filter(|line| line.contains("ERROR"));
        assert_eq!(errors.count(), REFUSING.len(), "{log}");
    }
    assert!(
        !log.contains(OUR_SECRET) && !log.contains("upstream-code"),
        "{log}"
    );
}

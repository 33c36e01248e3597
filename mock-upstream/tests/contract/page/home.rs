//! The home page.

use mock_upstream::users::seed_users;
use mock_upstream::{Misbehaviour, Next, Provider};

use super::interactive;
use crate::test_mock::seed_account;

#[tokio::test]
async fn the_home_page_says_what_it_is_who_can_sign_in_and_what_is_planned() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let upstream = mock.upstream(provider);
        let url = format!("{}/", upstream.url());
        let home = mock.get(&url).await;
        home.assert_page(200, &format!("An imitation of {provider}"));
        assert!(home.body.contains("Nothing is planned."));
        for known in seed_users() {
            assert!(
                home.body.contains(known.reason_at(provider)),
                "{}",
                known.key
            );
        }
        for (name, address) in upstream.endpoints() {
            assert!(
                home.body.contains(name) && home.body.contains(&address),
                "{name}"
            );
        }

        upstream
            .queue(Next::User(seed_account(provider, "alan")))
            .unwrap();
        upstream
            .queue_for("prj_a", Next::Misbehave(Misbehaviour::Timeout))
            .unwrap();
        let home = mock.get(&url).await;
        for part in [
            "<bdi>Alan Turing</bdi> signs in without a page",
            "Failure <code>timeout</code>",
            "(only for <code>prj_a</code>)",
        ] {
            assert!(home.body.contains(part), "{part} in {}", home.body);
        }
    }
}

#[tokio::test]
async fn the_home_page_leads_to_the_app() {
    let mock = interactive().await;
    let url = format!("{}/", mock.upstreams.google().url());
    assert!(!mock.get(&url).await.body.contains(r#"id="back""#));
    mock.upstreams.set_app_url("http://localhost:3000");
    let link = r#"id="back" href="http://localhost:3000""#;
    assert!(mock.get(&url).await.body.contains(link));
}

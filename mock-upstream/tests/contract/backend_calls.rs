//! The calls of backends, with the sign-in of each and the report on its ID token.

use mock_upstream::misbehaviour::Group;
use mock_upstream::{BackendCall, Misbehaviour, Next, Provider};
use std::sync::Arc;

use crate::test_mock::{STATE, TestMock, redemption};

async fn token_call(mock: &TestMock, provider: Provider) -> Arc<BackendCall> {
    mock.sign_in(provider).await;
    let mut calls = mock.upstream(provider).backend_calls();
    calls.pop().expect("the exchange of the code")
}

#[tokio::test]
async fn the_exchange_of_a_code_belongs_to_its_sign_in() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        let call = token_call(&mock, provider).await;
        assert_eq!((&*call.state, call.status), (STATE, Some(200)));
        assert_eq!(call.fields["client_id"], "mock-client");
        assert!(call.answer.as_ref().expect("JSON")["access_token"].is_string());
    }
}

#[tokio::test]
async fn a_call_with_the_token_belongs_to_its_sign_in_and_another_to_none() {
    let mock = TestMock::new().await;
    let github = Provider::GitHub;
    let token = mock.sign_in(github).await.text("access_token");
    for token in [token.as_str(), "another"] {
        mock.get_with_token(github, "/user", token).await;
    }
    mock.token(github, &redemption("no-such-code")).await;
    let calls = mock.upstream(github).backend_calls();
    let paths: Vec<_> = calls.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["/login/oauth/access_token", "/user"]);
    assert_eq!(calls[1].state, STATE);
    mock.upstreams.reset();
    assert!(mock.upstream(github).backend_calls().is_empty());
}

#[tokio::test]
async fn a_client_that_makes_every_check_finds_every_forged_id_token() {
    let google = Provider::Google;
    for &misbehaviour in Misbehaviour::of(google) {
        if !matches!(misbehaviour.group(), Group::Claims | Group::Signature) {
            continue;
        }
        let mock = TestMock::new().await;
        mock.queue(google, Next::Misbehave(misbehaviour));
        let call = token_call(&mock, google).await;
        let report = call.id_token.as_ref().expect("an ID token");
        let failed: Vec<_> = report.checks.iter().filter(|it| !it.passed).collect();
        let is_forged = misbehaviour.error().is_some();
        assert_eq!(
            !failed.is_empty(),
            is_forged,
            "{misbehaviour:?}: {failed:?}"
        );
    }
}

#[tokio::test]
async fn a_good_id_token_passes_every_check() {
    let mock = TestMock::new().await;
    let call = token_call(&mock, Provider::Google).await;
    let report = call.id_token.as_ref().expect("an ID token");
    assert!(report.checks.iter().all(|it| it.passed), "{report:?}");
    assert!(report.checks.len() > 8 && report.claims["sub"].is_string());
    assert_eq!(report.header["alg"], "RS256");
}

//! The records of a provider: the journal of requests, and the calls of backends with the
//! sign-in of each and the report on its ID token.

use std::sync::Arc;

use mock_upstream::journal::CAPACITY;
use mock_upstream::misbehaviour::Group;
use mock_upstream::{BackendCall, Misbehaviour, Next, Provider};

use crate::test_mock::{
    CLIENT_SECRET, GITHUB, GOOGLE, NONCE, STATE, TestMock, VERIFIER, authorization, redemption,
    token_path,
};

#[tokio::test]
async fn every_request_is_recorded_in_order() {
    let mock = TestMock::new().await;
    let start = mock.now_ms();
    let code = mock.code(GOOGLE).await;
    mock.advance_ms(5);
    mock.token(GOOGLE, &redemption(&code)).await;
    let recorded: Vec<_> = mock.upstreams.google().journal();
    let recorded = recorded
        .iter()
        .map(|it| (it.at - start, &*it.method, &*it.path, it.status));
    let expected = [
        (0, "GET", "/o/oauth2/v2/auth", Some(302)),
        (5, "POST", "/token", Some(200)),
    ];
    assert_eq!(recorded.collect::<Vec<_>>(), expected);
    assert_eq!(mock.upstreams.github().journal(), []);
}

#[tokio::test]
async fn an_entry_as_json_has_the_members_of_the_control_api() {
    let mock = TestMock::new().await;
    mock.get(GOOGLE, "/nothing?a=1&%63ode=2&flag").await;
    let entries = serde_json::to_value(mock.upstreams.google().journal()).unwrap();
    let expected = serde_json::json!([{
        "at": mock.now_ms(),
        "method": "GET",
        "path": "/nothing",
        "query": "a=1&%63ode=[masked]&flag",
        "status": 404,
    }]);
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn no_secret_is_recorded() {
    let mock = TestMock::new().await;
    for provider in Provider::ALL {
        let code = mock.code(provider).await;
        let form = redemption(&code);
        mock.token(provider, &form).await;
        // A client can put them into the query by mistake.
        let path = format!("{}?{}", token_path(provider), form.encoded());
        mock.get(provider, &path).await;
        let journal = format!("{:?}", mock.upstream(provider).journal());
        let params = authorization(provider);
        let challenge = params.get("code_challenge").unwrap();
        let state = STATE.split(' ').next().unwrap();
        let written = journal.replace("state=", "");
        let written = written.replace("grant_type=authorization_code", "");
        for secret in [
            &code,
            CLIENT_SECRET,
            VERIFIER,
            NONCE,
            challenge,
            &format!("{state}+"),
        ] {
            assert!(!written.contains(secret), "{secret} in {written}");
        }
        assert!(journal.contains("state=[masked]"));
    }
}

#[tokio::test]
async fn a_full_journal_drops_its_oldest_entries() {
    let mock = TestMock::new().await;
    for number in 0..CAPACITY + 2 {
        mock.get(GITHUB, &format!("/{number}")).await;
    }
    let entries = mock.upstreams.github().journal();
    assert_eq!((entries.len(), entries[0].path.as_str()), (CAPACITY, "/2"));
}

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
    let token = mock.sign_in(GITHUB).await.text("access_token");
    for token in [token.as_str(), "another"] {
        mock.get_with(token, GITHUB, "/user").await;
    }
    mock.token(GITHUB, &redemption("no-such-code")).await;
    let calls = mock.upstream(GITHUB).backend_calls();
    let paths: Vec<_> = calls.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["/login/oauth/access_token", "/user"]);
    assert_eq!(calls[1].state, STATE);
    mock.upstreams.reset();
    assert!(mock.upstream(GITHUB).backend_calls().is_empty());
}

#[tokio::test]
async fn a_client_that_makes_every_check_finds_every_forged_id_token_and_no_good_one() {
    let mock = TestMock::new().await;
    for &misbehaviour in Misbehaviour::of(GOOGLE) {
        if !matches!(misbehaviour.group(), Group::Claims | Group::Signature) {
            continue;
        }
        mock.queue(GOOGLE, Next::Misbehave(misbehaviour));
        let call = token_call(&mock, GOOGLE).await;
        let report = call.id_token.as_ref().expect("an ID token");
        let failed: Vec<_> = report.checks.iter().filter(|it| !it.passed).collect();
        let is_forged = misbehaviour.error().is_some();
        let is_found = !failed.is_empty();
        assert_eq!(is_found, is_forged, "{misbehaviour:?}: {failed:?}");
    }
    let call = token_call(&mock, GOOGLE).await;
    let report = call.id_token.as_ref().expect("an ID token");
    assert!(report.checks.iter().all(|it| it.passed), "{report:?}");
    assert!(report.checks.len() > 8 && report.claims["sub"].is_string());
    assert_eq!(report.header["alg"], "RS256");
}

//! The handle of a provider: its queue, mode, `iss` and reset, the journal of its requests,
//! and the calls of backends with the sign-in of each and the report on its ID token.

use mock_upstream::journal::CAPACITY;
use mock_upstream::misbehaviour::Group;
use mock_upstream::{IdTokenReport, Iss, Labels, Misbehaviour, Mode, Next, Provider};
use serde_json::json;

use crate::test_mock::{
    CLIENT_SECRET, GITHUB, GOOGLE, NONCE, STATE, TestMock, VERIFIER, authorization, redemption,
    token_path, user,
};

/// The `sub` of the user of a sign-in at Google.
async fn sub(mock: &TestMock) -> String {
    let callback = mock.callback(GOOGLE, "").await;
    mock.account(GOOGLE, &callback).await.text("sub")
}

const ADA: &str = "100000000000000000001";

#[tokio::test]
async fn the_queue_is_used_in_order_in_either_mode_and_then_the_mode_decides() {
    let mock = TestMock::new().await;
    for mode in [Mode::Automatic, Mode::Interactive] {
        mock.upstreams.google().set_mode(mode);
        for id in ["1", "2"] {
            mock.queue(GOOGLE, Next::User(user(id)));
        }
        assert_eq!([sub(&mock).await, sub(&mock).await], ["1", "2"]);
        match mode {
            Mode::Automatic => assert_eq!(sub(&mock).await, ADA),
            Mode::Interactive => {
                let page = mock.authorize(GOOGLE, "").await;
                assert_eq!(page.status, 200);
            }
        }
    }
}

/// A mock that labels the sign-in with the state `for a` with `a`.
async fn labelled() -> TestMock {
    TestMock::with(|settings| {
        let label_of = |state: &str| state.strip_prefix("for ").map(str::to_owned);
        settings.labels = Labels::new(label_of);
    })
    .await
}

const DENY: Next = Next::Misbehave(Misbehaviour::Deny);
const SUSPEND: Next = Next::Misbehave(Misbehaviour::ApplicationSuspended);

#[tokio::test]
async fn a_sign_in_takes_the_first_entry_that_is_for_it_and_leaves_the_others_in_their_order() {
    let mock = labelled().await;
    let github = mock.upstream(GITHUB);
    for (label, next) in [("b", DENY), ("a", SUSPEND), ("b", SUSPEND)] {
        github.queue_for(label, next).unwrap();
    }
    for _ in 0..2 {
        github.queue(DENY).unwrap();
    }
    assert_eq!(github.queued()[1].label.as_deref(), Some("a"));
    let (deny, suspend) = (Some("access_denied"), Some("application_suspended"));
    for (changes, errors) in [
        // Without a label it takes those for any; and a state is no label by itself.
        ("-state", &[deny][..]),
        ("state=a", &[deny]),
        ("state=for a", &[suspend, None]),
        ("state=for b", &[deny, suspend, None]),
    ] {
        for error in errors {
            let callback = mock.callback(GITHUB, changes).await;
            assert_eq!(callback.get("error"), *error, "{changes}");
        }
    }
}

#[tokio::test]
async fn a_queued_entry_can_be_removed_and_the_others_keep_their_order() {
    let mock = TestMock::new().await;
    let google = mock.upstreams.google();
    let ids = ["1", "2", "3"].map(|id| google.queue(Next::User(user(id))).unwrap());
    let removed = google.remove_queued(ids[1]).unwrap();
    assert_eq!(removed.next, Next::User(user("2")));
    assert_eq!(google.remove_queued(ids[1]), None);
    assert_eq!(sub(&mock).await, "1");
    // A sign-in was faster.
    assert_eq!(google.remove_queued(ids[0]), None);
    assert_eq!(sub(&mock).await, "3");
    // One from before a reset is no other's.
    google.reset();
    let after = google.queue(DENY).unwrap();
    assert_eq!(google.remove_queued(ids[2]), None);
    assert_eq!(google.queued()[0].id, after);
    assert_eq!(google.clear_queue(), 1);
    assert_eq!(sub(&mock).await, ADA);
}

#[tokio::test]
async fn a_reset_forgets_what_a_provider_has_issued_and_leaves_the_other_one() {
    let mock = TestMock::new().await;
    for (provider, other, path) in [(GOOGLE, GITHUB, "/v1/userinfo"), (GITHUB, GOOGLE, "/user")] {
        let upstream = mock.upstream(provider);
        let form = mock.redemption(provider).await;
        let elsewhere = mock.redemption(other).await;
        let token = mock.access_token(provider).await;
        mock.queue(provider, Next::Misbehave(Misbehaviour::Deny));
        upstream.set_mode(Mode::Interactive);
        upstream.set_iss(Iss::Off);
        upstream.reset();
        assert_eq!(upstream.journal(), []);
        assert!(!mock.token(provider, &form).await.is_granted());
        assert_eq!(mock.get_with(&token, provider, path).await.status, 401);
        let callback = mock.callback(provider, "").await;
        assert!(callback.get("code").is_some() && callback.get("iss").is_some());
        assert!(mock.token(other, &elsewhere).await.is_granted());
    }
}

#[tokio::test]
async fn g7_a_token_takes_the_bytes_of_its_scopes() {
    let mock = TestMock::new().await;
    let scope = "a".repeat(60_000);
    mock.sign_in_with(GITHUB, &format!("scope={scope}")).await;
    let held = mock.upstreams.github().bytes_held();
    assert!((60_000..70_000).contains(&held), "{held} bytes");
}

#[test]
fn a_switch_and_a_provider_are_parsed_from_their_names_and_an_error_lists_the_names() {
    let modes = ["interactive", "automatic"].map(str::parse);
    assert_eq!(modes, [Ok(Mode::Interactive), Ok(Mode::Automatic)]);
    let values = ["on", "off", "errors"].map(str::parse);
    assert_eq!(values, [Ok(Iss::On), Ok(Iss::Off), Ok(Iss::Errors)]);
    let refused = "manual".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(refused, "valid: `interactive`, `automatic`");
    assert!("gitlab".parse::<Provider>().is_err());
}

#[tokio::test]
async fn every_request_is_recorded_in_order_with_the_members_of_the_control_api() {
    let mock = TestMock::new().await;
    let start = mock.now_ms();
    mock.get(GOOGLE, "/nothing?a=1&%63ode=2&flag").await;
    mock.advance_ms(5);
    mock.token(GOOGLE, &redemption("none")).await;
    let entries = serde_json::to_value(mock.upstreams.google().journal()).unwrap();
    let query = "a=1&%63ode=[masked]&flag";
    let expected = json!([
        { "at": start, "method": "GET", "path": "/nothing", "query": query, "status": 404 },
        { "at": start + 5, "method": "POST", "path": "/token", "query": "", "status": 400 },
    ]);
    assert_eq!(entries, expected);
    assert_eq!(mock.upstreams.github().journal(), []);
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
        let state = format!("{state}+");
        for secret in [&code, CLIENT_SECRET, VERIFIER, NONCE, challenge, &state] {
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

#[tokio::test]
async fn a_call_with_the_code_or_the_token_belongs_to_its_sign_in_and_another_to_none() {
    let mock = TestMock::new().await;
    for (provider, path) in [(GOOGLE, "/v1/userinfo"), (GITHUB, "/user")] {
        let token = mock.access_token(provider).await;
        for token in [token.as_str(), "another"] {
            mock.get_with(token, provider, path).await;
        }
        mock.token(provider, &redemption("no-such-code")).await;
        let calls = mock.upstream(provider).backend_calls();
        let paths: Vec<_> = calls.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, [token_path(provider), path]);
        for call in &calls {
            assert_eq!((&*call.state, call.status), (STATE, Some(200)));
        }
        assert_eq!(calls[0].fields["client_id"], "mock-client");
        assert!(calls[0].answer.as_ref().expect("JSON")["access_token"].is_string());
    }
    mock.upstreams.reset();
    assert!(mock.upstream(GITHUB).backend_calls().is_empty());
}

/// The report on the ID token of a new sign-in.
async fn report(mock: &TestMock) -> IdTokenReport {
    mock.sign_in(GOOGLE).await;
    let call = mock.upstream(GOOGLE).backend_calls().pop().unwrap();
    call.id_token.clone().expect("an ID token")
}

#[tokio::test]
async fn a_client_that_makes_every_check_finds_every_forged_id_token_and_no_good_one() {
    let mock = TestMock::new().await;
    for &misbehaviour in Misbehaviour::of(GOOGLE) {
        if !matches!(misbehaviour.group(), Group::Claims | Group::Signature) {
            continue;
        }
        mock.queue(GOOGLE, Next::Misbehave(misbehaviour));
        let is_found = report(&mock).await.checks.iter().any(|it| !it.passed);
        assert_eq!(is_found, misbehaviour.error().is_some(), "{misbehaviour:?}");
    }
    let report = report(&mock).await;
    assert!(report.checks.iter().all(|it| it.passed), "{report:?}");
    assert!(report.checks.len() > 8 && report.claims["sub"].is_string());
    assert_eq!(report.header["alg"], "RS256");
}

//! The controls of a provider: queue, mode, `iss` and reset.

use mock_upstream::{Iss, Labels, Misbehaviour, Mode, Next, Provider};

use crate::test_mock::{
    GITHUB, GOOGLE, Response, TestMock, authorization, authorization_path, redemption, user,
};

/// The `sub` of the user of a sign-in at Google.
async fn sub(mock: &TestMock) -> String {
    let token = mock.sign_in(GOOGLE).await.text("access_token");
    mock.get_with(&token, GOOGLE, "/v1/userinfo")
        .await
        .text("sub")
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
                let page = mock.authorize(GOOGLE, &authorization(GOOGLE)).await;
                assert_eq!(page.status, 200);
            }
        }
    }
}

#[tokio::test]
async fn a_refused_request_a_head_and_a_sign_in_elsewhere_leave_the_queue() {
    let mock = TestMock::new().await;
    mock.queue(GOOGLE, Next::User(user("1")));
    let refused = authorization(GOOGLE).with("redirect_uri", "https://attacker.example/");
    let refused = mock.authorize(GOOGLE, &refused).await;
    refused.assert_page(400, "redirect_uri_mismatch");
    let path = authorization_path(GOOGLE);
    let path = format!("{path}?{}", authorization(GOOGLE).encoded());
    let head = Response::of(mock.request(GOOGLE, "HEAD", &path)).await;
    assert_eq!((head.status, head.header("location")), (200, ""));
    assert!(mock.sign_in(GITHUB).await.is_granted());
    assert_eq!(sub(&mock).await, "1");
}

/// A mock that labels the sign-in with the state `for a` with `a`.
async fn labelled() -> TestMock {
    TestMock::with(|settings| {
        let label_of = |state: &str| state.strip_prefix("for ").map(str::to_owned);
        settings.labels = Labels::new(label_of);
    })
    .await
}

/// The error in the callback of a sign-in with these changes.
async fn error_for(mock: &TestMock, provider: Provider, changes: &str) -> Option<String> {
    let params = authorization(provider).changed(changes);
    let callback = mock.authorize(provider, &params).await.callback();
    callback.get("error").map(str::to_owned)
}

const DENY: Next = Next::Misbehave(Misbehaviour::Deny);
const SUSPEND: Next = Next::Misbehave(Misbehaviour::ApplicationSuspended);

#[tokio::test]
async fn an_entry_for_a_label_waits_for_its_own_sign_in() {
    let mock = labelled().await;
    for provider in Provider::ALL {
        mock.upstream(provider).queue_for("a", DENY).unwrap();
        for other in ["state=for b", "state=a", "state=x"] {
            assert_eq!(error_for(&mock, provider, other).await, None, "{other}");
        }
        let error = error_for(&mock, provider, "state=for a").await;
        assert_eq!(error.as_deref(), Some("access_denied"));
        assert_eq!(error_for(&mock, provider, "state=for a").await, None);
    }
}

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
        // Without a label it takes those for any.
        ("-state", &[deny][..]),
        ("state=for a", &[suspend, deny]),
        ("state=for b", &[deny, suspend, None]),
    ] {
        for error in errors {
            let seen = error_for(&mock, GITHUB, changes).await;
            assert_eq!(seen.as_deref(), *error, "{changes}");
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
    assert_eq!(sub(&mock).await, ADA);
}

#[tokio::test]
async fn an_id_from_before_a_reset_removes_nothing() {
    let mock = TestMock::new().await;
    let google = mock.upstreams.google();
    let before = google.queue(DENY).unwrap();
    google.reset();
    let after = google.queue(DENY).unwrap();
    assert_eq!(google.remove_queued(before), None);
    assert_eq!(google.queued()[0].id, after);
    assert_eq!(google.clear_queue(), 1);
    assert!(google.queued().is_empty());
}

#[tokio::test]
async fn a_reset_forgets_what_a_provider_has_issued_and_leaves_the_other_one() {
    let mock = TestMock::new().await;
    for (provider, other, path) in [(GOOGLE, GITHUB, "/v1/userinfo"), (GITHUB, GOOGLE, "/user")] {
        let upstream = mock.upstream(provider);
        let form = redemption(&mock.code(provider).await);
        let elsewhere = redemption(&mock.code(other).await);
        let token = mock.sign_in(provider).await.text("access_token");
        mock.queue(provider, Next::Misbehave(Misbehaviour::Deny));
        upstream.set_mode(Mode::Interactive);
        upstream.set_iss(Iss::Off);
        upstream.reset();
        assert_eq!(upstream.journal(), []);
        assert!(!mock.token(provider, &form).await.is_granted());
        assert_eq!(mock.get_with(&token, provider, path).await.status, 401);
        let callback = mock
            .authorize(provider, &authorization(provider))
            .await
            .callback();
        assert!(callback.get("code").is_some() && callback.get("iss").is_some());
        assert!(mock.token(other, &elsewhere).await.is_granted());
    }
}

#[test]
fn a_switch_and_a_provider_are_parsed_from_their_names_and_an_error_lists_the_names() {
    let modes = ["interactive", "automatic"].map(str::parse);
    assert_eq!(modes, [Ok(Mode::Interactive), Ok(Mode::Automatic)]);
    let values = ["on", "off", "errors"].map(str::parse);
    assert_eq!(values, [Ok(Iss::On), Ok(Iss::Off), Ok(Iss::Errors)]);
    let refused = "manual".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(refused, "valid: `interactive`, `automatic`");
    for provider in Provider::ALL {
        assert_eq!(provider.name().parse(), Ok(provider));
    }
    assert!("gitlab".parse::<Provider>().is_err());
}

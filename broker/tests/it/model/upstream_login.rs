//! Upstream logins: the values derived from their seed, their browser and their end.

use broker::model::LoginId;
use broker::model::login_session::SessionStatus;
use broker::model::upstream_login::{Purpose, Seed, UpstreamLogin};
use contract::{CodeVerifier, Digest, Provider, Rule, State};

use super::login_session::session;
use super::{NOW, binding, callback, client};

pub(super) fn upstream_login(purpose: Purpose) -> UpstreamLogin {
    UpstreamLogin {
        seed: Seed::from_random([7; 32]),
        login: LoginId::kept("abc".to_owned()),
        provider: Provider::Google,
        project: client("prj_ada"),
        callback: Digest::of(b"callback"),
        ends: NOW.plus_ms(600_000),
        purpose,
    }
}

fn clean(handle: &[u8]) -> Purpose {
    Purpose::Clean {
        handle: Digest::of(handle),
        browser: binding(1),
    }
}

pub(super) fn legacy() -> Purpose {
    Purpose::Legacy {
        state: State::from_random(&[1; 32]),
        challenge: CodeVerifier::from_random(&[1; 32]).challenge(),
    }
}

#[test]
fn the_values_derived_from_a_seed_are_distinct_and_always_the_same() {
    let (upstream_login, again) = (upstream_login(legacy()), upstream_login(legacy()));
    let derived = |upstream_login: &UpstreamLogin| {
        [
            upstream_login.id().to_text(),
            upstream_login.upstream_state().to_text(),
            upstream_login.upstream_verifier().expose().to_owned(),
            upstream_login.nonce(),
            Digest::from_bytes(*upstream_login.seed.expose()).to_text(),
        ]
    };
    let values = derived(&upstream_login);
    assert_eq!(values, derived(&again));
    let distinct: std::collections::HashSet<_> = values.iter().collect();
    assert_eq!(distinct.len(), values.len());
    assert!(values.iter().all(|value| value.len() == 43));
    let other = UpstreamLogin {
        seed: Seed::from_random([8; 32]),
        ..upstream_login
    };
    assert!(derived(&other).iter().all(|value| !values.contains(value)));
}

// Threats: A13.
#[test]
fn an_upstream_state_is_matched_by_its_own_text_alone_and_is_redacted() {
    let state = upstream_login(legacy()).upstream_state();
    let text = state.to_text();
    assert!(state.matches(&text));
    for at in 0..text.len() {
        let mut other = text.clone().into_bytes();
        other[at] = if other[at] == b'A' { b'B' } else { b'A' };
        let other = String::from_utf8(other).unwrap();
        assert!(!state.matches(&other), "{at}");
    }
    for other in ["", &text[1..], &format!("{text}="), &text.to_lowercase()] {
        assert!(!state.matches(other));
    }
    assert!(!format!("{state:?}").contains(&text));
}

#[test]
fn an_upstream_login_is_valid_until_its_end() {
    let upstream_login = upstream_login(legacy());
    assert_eq!(upstream_login.check_time(NOW), Ok(()));
    assert_eq!(upstream_login.check_time(NOW.plus_ms(599_999)), Ok(()));
    assert_eq!(
        upstream_login.check_time(NOW.plus_ms(600_000)),
        Err(Rule::UpstreamLoginExpiry)
    );
}

#[test]
fn only_an_upstream_login_of_the_same_login_names_its_browser() {
    let (own, other) = (Digest::of(b"own"), Digest::of(b"other"));
    assert_eq!(
        upstream_login(clean(b"own")).browser_of(&own),
        Some(binding(1))
    );
    assert_eq!(upstream_login(clean(b"own")).browser_of(&other), None);
    assert_eq!(upstream_login(legacy()).browser_of(&own), None);
}

#[test]
fn an_upstream_login_for_a_session_ends_with_the_session() {
    let session = session(SessionStatus::Unbound);
    let handle = Digest::of(b"handle");
    let upstream_login =
        UpstreamLogin::for_session(Seed::from_random([7; 32]), &session, handle, binding(1));
    assert_eq!(upstream_login.ends, session.ends);
    assert_eq!(upstream_login.login, session.login);
    assert_eq!(upstream_login.provider, session.provider);
    assert_eq!(upstream_login.project, session.project);
    assert_eq!(upstream_login.callback, session.redirect_uri.digest());
    assert_eq!(upstream_login.browser_of(&handle), Some(binding(1)));
}

#[test]
fn an_upstream_login_for_an_authorization_ends_after_600_seconds() {
    let state = State::from_random(&[1; 32]);
    let challenge = CodeVerifier::from_random(&[1; 32]).challenge();
    let callback_uri = callback("https://app.example/cb");
    let upstream_login = UpstreamLogin::for_authorization(
        Seed::from_random([7; 32]),
        &client("prj_ada"),
        &callback_uri,
        Provider::GitHub,
        (state.clone(), challenge.clone()),
        NOW,
    );
    assert_eq!(upstream_login.ends, NOW.plus_ms(600_000));
    assert_eq!(upstream_login.login, LoginId::of_state(&state));
    assert_eq!(upstream_login.callback, callback_uri.digest());
    let Purpose::Legacy {
        state: kept,
        challenge: kept_challenge,
    } = upstream_login.purpose
    else {
        panic!("it is a legacy upstream login");
    };
    assert!(kept.matches(&state));
    assert_eq!(kept_challenge, challenge);
}

#[test]
fn a_seed_is_redacted() {
    assert_eq!(
        format!("{:?}", Seed::from_random([7; 32])),
        "Seed([redacted])"
    );
}

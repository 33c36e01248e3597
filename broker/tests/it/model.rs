//! The states of logins, as pure functions of their data and the time. The storage suite
//! has the ends and the single use of what is stored; here are the values that are derived,
//! the order of refusals, and the browser that a session admits. And the random values that
//! all of them are made of.

use std::collections::HashSet;

use broker::model::grant::{Grant, Redemption};
use broker::model::login_session::{Handle, LoginSession, NotAdmitted, SessionStatus};
use broker::model::upstream_login::{Purpose, Seed, UpstreamLogin};
use broker::model::{LoginId, UnixMs};
use broker::random::bytes32;
use contract::{Digest, Provider, Rule, SessionKey, State};

use crate::storage::test_store::{CALLBACK, binding, callback, project, upstream_login, verifier};

const NOW: UnixMs = UnixMs(1_790_000_000_000);

#[test]
fn time_is_added_without_overflow_and_rounded_down_to_seconds_and_an_end_is_exclusive() {
    assert_eq!(UnixMs(i64::MAX).plus_ms(1), UnixMs(i64::MAX));
    for (ms, seconds) in [(1999, 1), (2000, 2), (-1, -1)] {
        assert_eq!(UnixMs(ms).seconds(), seconds);
    }
    let end = NOW.plus_ms(1);
    assert!(end.is_after(NOW) && !end.is_after(end) && !end.is_after(end.plus_ms(1)));
}

#[test]
fn a_login_id_is_12_characters_that_are_no_part_of_the_secret_or_its_digest() {
    let key = SessionKey::from_random(&[1; 32]);
    let id = LoginId::of_key(&key);
    assert_eq!(id, LoginId::of_key(&key));
    assert_ne!(id, LoginId::of_key(&SessionKey::from_random(&[2; 32])));
    assert_eq!(id.as_str().len(), 12);
    assert!(!key.expose().contains(id.as_str()));
    assert!(!key.digest().to_text().contains(id.as_str()));
    assert_eq!(LoginId::kept(id.as_str().to_owned()), id);
    let state = State::from_random(&[1; 32]);
    assert_eq!(LoginId::of_state(&state).as_str().len(), 12);
}

fn session(status: SessionStatus) -> LoginSession {
    LoginSession {
        login: LoginId::kept("abc".to_owned()),
        project: project("ada"),
        redirect_uri: callback(CALLBACK),
        provider: Provider::Google,
        ends: NOW.plus_ms(600_000),
        known_until: NOW.plus_ms(1_200_000),
        status,
    }
}

#[test]
fn a_session_admits_its_own_browser_while_it_is_pending_and_sends_others_back_afterwards() {
    use SessionStatus::{Bound, Completed, Consumed, Erased, Unbound};
    let over = NotAdmitted::Over {
        project: project("ada"),
        redirect_uri: callback(CALLBACK),
    };
    for (status, ms, is_admitted, rejected) in [
        (Unbound, 599_999, true, &NotAdmitted::OtherBrowser),
        (Unbound, 600_000, false, &over),
        (Bound(binding(1)), 599_999, true, &NotAdmitted::OtherBrowser),
        (Bound(binding(1)), 600_000, false, &over),
        (Bound(binding(2)), 0, false, &NotAdmitted::OtherBrowser),
        (Completed, 0, false, &over),
        (Consumed, 0, false, &over),
        (Erased, 0, false, &over),
    ] {
        let now = NOW.plus_ms(ms);
        let admitted = session(status).admit(binding(1), now);
        assert_eq!(admitted.is_ok(), is_admitted, "{status:?} at {ms}");
        assert_eq!(session(status).reject(now), *rejected, "{status:?} at {ms}");
    }
}

#[test]
fn a_refused_redemption_names_the_first_rule_that_it_broke() {
    let grant = Grant {
        login: LoginId::kept("abc".to_owned()),
        project: project("ada"),
        callback: Digest::of(b"callback"),
        challenge: verifier(1).challenge(),
        is_redeemed: false,
    };
    for (name, callback, n, expected) in [
        ("bob", "other", 2, Rule::CodeClient),
        ("ada", "other", 2, Rule::CodeCallback),
        ("ada", "callback", 2, Rule::CodeVerifier),
        ("ada", "callback", 1, Rule::CodeExpiry),
    ] {
        let redemption = Redemption {
            code: Digest::of(b"code"),
            project: project(name),
            callback: Digest::of(callback.as_bytes()),
            challenge: verifier(n).challenge(),
            token: Digest::of(b"token"),
            token_ends: NOW,
            known_until: NOW,
        };
        assert_eq!(grant.explain(&redemption), expected);
    }
}

#[test]
fn the_values_derived_from_a_seed_are_distinct_and_always_the_same() {
    let derived = |seed: u8| {
        let upstream_login = upstream_login(seed, NOW);
        [
            upstream_login.id().to_text(),
            upstream_login.upstream_state().to_text(),
            upstream_login.upstream_verifier().expose().to_owned(),
            upstream_login.nonce(),
            Digest::from_bytes(*upstream_login.seed.expose()).to_text(),
        ]
    };
    assert_eq!(derived(7), derived(7));
    let all: HashSet<_> = derived(7).into_iter().chain(derived(8)).collect();
    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|value| value.len() == 43));
}

// Threats: A13.
#[test]
fn an_upstream_state_is_matched_by_its_own_text_alone() {
    let state = upstream_login(7, NOW).upstream_state();
    let text = state.to_text();
    assert!(state.matches(&text));
    for at in 0..text.len() {
        let mut other = text.clone().into_bytes();
        other[at] = if other[at] == b'A' { b'B' } else { b'A' };
        assert!(!state.matches(&String::from_utf8(other).unwrap()), "{at}");
    }
    for other in ["", &text[1..], &format!("{text}="), &text.to_lowercase()] {
        assert!(!state.matches(other));
    }
}

#[test]
fn an_upstream_login_names_the_browser_of_its_own_login_alone() {
    let purpose = Purpose::Clean {
        handle: Digest::of(b"own"),
        browser: binding(1),
    };
    let clean = UpstreamLogin {
        purpose,
        ..upstream_login(7, NOW)
    };
    let own = Digest::of(b"own");
    assert_eq!(clean.browser_of(&own), Some(binding(1)));
    assert_eq!(clean.browser_of(&Digest::of(b"other")), None);
    assert_eq!(upstream_login(7, NOW).browser_of(&own), None);
}

#[test]
fn a_handle_and_a_seed_are_redacted() {
    let handle = Handle::from_random([7; 32]);
    assert_eq!(format!("{handle:?}"), "Handle([redacted])");
    assert_eq!(
        format!("{:?}", Seed::from_random([7; 32])),
        "Seed([redacted])"
    );
    let state = upstream_login(7, NOW).upstream_state();
    assert!(!format!("{state:?}").contains(&state.to_text()));
}

// Threats: A11.
#[test]
fn a_hundred_thousand_random_values_differ_and_favour_no_byte() {
    let drawn: HashSet<_> = (0..100_000).map(|_| bytes32()).collect();
    assert_eq!(drawn.len(), 100_000);
    let mut counts = [[0; 256]; 32];
    for value in &drawn {
        for (place, byte) in value.iter().enumerate() {
            counts[place][usize::from(*byte)] += 1;
        }
    }
    // On average 391, with a standard deviation of 20.
    let is_even = |count: &i32| (191..591).contains(count);
    assert!(counts.as_flattened().iter().all(is_even), "{counts:?}");
}

//! The pure code of the two state diagrams, where it decides something.

use broker::model::grant::{CODE_LIFETIME_MS, Grant, NewGrant, Redemption, Token};
use broker::model::login_session::{
    BrowserBinding, LoginSession, NotAdmitted, ResultQuery, SessionStatus, StillPending,
};
use broker::model::upstream_login::{Purpose, Seed, UpstreamLogin};
use broker::model::{LoginId, UnixMs};
use contract::{
    ClientId, CodeVerifier, Digest, LoginResultRequest, Provider, RedirectUri, Rule, SessionKey,
    State,
};

use crate::users::ada;

const NOW: UnixMs = UnixMs(1_790_000_000_000);

fn client(text: &str) -> ClientId {
    text.parse().unwrap()
}

fn callback(text: &str) -> RedirectUri {
    text.parse().unwrap()
}

fn mark(n: u8) -> BrowserBinding {
    BrowserBinding(Digest::of(&[n]))
}

fn session(status: SessionStatus) -> LoginSession {
    LoginSession {
        login: LoginId::of_key(&SessionKey::from_random(&[1; 32])),
        project: client("prj_ada"),
        redirect_uri: callback("https://app.example/cb"),
        provider: Provider::Google,
        ends: NOW.plus_ms(600_000),
        known_until: NOW.plus_ms(1_200_000),
        status,
    }
}

fn ask() -> ResultQuery {
    ResultQuery {
        key: Digest::of(b"key"),
        project: client("prj_ada"),
        redirect_uri: callback("https://app.example/cb"),
    }
}

#[test]
fn an_end_is_no_longer_valid_at_its_very_millisecond() {
    let end = NOW.plus_ms(1);
    assert!(end.is_after(NOW));
    assert!(!end.is_after(end));
    assert!(!end.is_after(end.plus_ms(1)));
}

#[test]
fn time_is_added_without_overflow_and_rounded_down_to_seconds() {
    assert_eq!(UnixMs(i64::MAX).plus_ms(1), UnixMs(i64::MAX));
    assert_eq!(UnixMs(1999).seconds(), 1);
    assert_eq!(UnixMs(2000).seconds(), 2);
    assert_eq!(UnixMs(-1).seconds(), -1);
}

#[test]
fn a_fingerprint_is_12_characters_that_are_no_part_of_the_secret_or_its_digest() {
    let key = SessionKey::from_random(&[1; 32]);
    let print = LoginId::of_key(&key);
    assert_eq!(print, LoginId::of_key(&key));
    assert_ne!(print, LoginId::of_key(&SessionKey::from_random(&[2; 32])));
    assert_eq!(print.as_str().len(), 12);
    assert!(!key.expose().contains(print.as_str()));
    assert!(!key.digest().to_text().contains(print.as_str()));
    assert_eq!(LoginId::kept(print.as_str().to_owned()), print);
    let state = State::from_random(&[1; 32]);
    assert_eq!(LoginId::of_state(&state).as_str().len(), 12);
}

#[test]
fn a_refused_read_names_the_first_rule_that_it_broke() {
    #[track_caller]
    fn check(
        session: LoginSession,
        ask: ResultQuery,
        ms: i64,
        expected: Result<StillPending, Rule>,
    ) {
        assert_eq!(session.explain(&ask, NOW.plus_ms(ms)), expected);
    }
    let by_bob = || ResultQuery {
        project: client("prj_bob"),
        redirect_uri: callback("https://bob.example/cb"),
        ..ask()
    };
    let elsewhere = || ResultQuery {
        redirect_uri: callback("https://app.example/other"),
        ..ask()
    };
    let pending = || session(SessionStatus::Unbound);
    let consumed = || session(SessionStatus::Consumed);
    check(pending(), ask(), 0, Ok(StillPending));
    check(pending(), ask(), 599_999, Ok(StillPending));
    check(pending(), ask(), 600_000, Err(Rule::ResultExpiry));
    check(
        session(SessionStatus::Completed),
        ask(),
        600_000,
        Err(Rule::ResultExpiry),
    );
    check(consumed(), ask(), 0, Err(Rule::ResultOnce));
    check(consumed(), ask(), 600_000, Err(Rule::ResultOnce));
    check(pending(), elsewhere(), 0, Err(Rule::ResultCallback));
    check(consumed(), elsewhere(), 600_000, Err(Rule::ResultCallback));
    check(pending(), by_bob(), 0, Err(Rule::ResultKnown));
    check(consumed(), by_bob(), 600_000, Err(Rule::ResultKnown));
}

#[test]
fn a_read_asks_under_the_digest_of_its_key() {
    let request = LoginResultRequest {
        client_id: client("prj_ada"),
        client_secret: "s".parse().unwrap(),
        session_key: SessionKey::from_random(&[1; 32]),
        redirect_uri: callback("https://app.example/cb"),
    };
    let ask = ResultQuery::of(&request);
    assert_eq!(ask.key, request.session_key.digest());
    assert_eq!(ask.project, request.client_id);
    assert_eq!(ask.redirect_uri, request.redirect_uri);
}

#[test]
fn a_session_admits_its_own_browser_while_it_is_pending() {
    #[track_caller]
    fn check(status: SessionStatus, ms: i64, expected: bool) {
        let admitted = session(status).admit(mark(1), NOW.plus_ms(ms));
        assert_eq!(admitted.is_ok(), expected);
    }
    check(SessionStatus::Unbound, 0, true);
    check(SessionStatus::Bound(mark(1)), 0, true);
    check(SessionStatus::Bound(mark(2)), 0, false);
    check(SessionStatus::Unbound, 599_999, true);
    check(SessionStatus::Unbound, 600_000, false);
    check(SessionStatus::Bound(mark(1)), 599_999, true);
    check(SessionStatus::Bound(mark(1)), 600_000, false);
    check(SessionStatus::Completed, 0, false);
    check(SessionStatus::Consumed, 0, false);
}

#[test]
fn a_rejected_browser_goes_back_unless_another_is_still_signing_in() {
    #[track_caller]
    fn check(status: SessionStatus, ms: i64, expected: &NotAdmitted) {
        assert_eq!(session(status).reject(NOW.plus_ms(ms)), *expected);
    }
    let over = NotAdmitted::Over {
        project: client("prj_ada"),
        redirect_uri: callback("https://app.example/cb"),
    };
    for pending in [SessionStatus::Unbound, SessionStatus::Bound(mark(2))] {
        check(pending, 0, &NotAdmitted::OtherBrowser);
        check(pending, 599_999, &NotAdmitted::OtherBrowser);
        check(pending, 600_000, &over);
    }
    check(SessionStatus::Completed, 0, &over);
    check(SessionStatus::Consumed, 0, &over);
}

fn upstream_login(purpose: Purpose) -> UpstreamLogin {
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
        browser: mark(1),
    }
}

fn legacy() -> Purpose {
    Purpose::Legacy {
        state: State::from_random(&[1; 32]),
        challenge: CodeVerifier::from_random(&[1; 32]).challenge(),
    }
}

#[test]
fn everything_a_upstream_login_grows_from_its_seed_is_its_own_and_always_the_same() {
    let (upstream_login, again) = (upstream_login(legacy()), upstream_login(legacy()));
    let grown = |upstream_login: &UpstreamLogin| {
        [
            upstream_login.id().to_text(),
            upstream_login.upstream_state().to_text(),
            upstream_login.upstream_verifier().expose().to_owned(),
            upstream_login.nonce(),
            Digest::from_bytes(*upstream_login.seed.expose()).to_text(),
        ]
    };
    let values = grown(&upstream_login);
    assert_eq!(values, grown(&again));
    let distinct: std::collections::HashSet<_> = values.iter().collect();
    assert_eq!(distinct.len(), values.len());
    assert!(values.iter().all(|value| value.len() == 43));
    let other = UpstreamLogin {
        seed: Seed::from_random([8; 32]),
        ..upstream_login
    };
    assert!(grown(&other).iter().all(|value| !values.contains(value)));
}

#[test]
fn an_upstream_state_is_matched_by_its_own_text_alone_and_is_not_shown() {
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
fn an_upstream_login_counts_until_its_end() {
    let upstream_login = upstream_login(legacy());
    assert_eq!(upstream_login.check_time(NOW), Ok(()));
    assert_eq!(upstream_login.check_time(NOW.plus_ms(599_999)), Ok(()));
    assert_eq!(
        upstream_login.check_time(NOW.plus_ms(600_000)),
        Err(Rule::UpstreamLoginExpiry)
    );
}

#[test]
fn only_a_upstream_login_for_the_same_login_names_its_browser() {
    let (own, other) = (Digest::of(b"own"), Digest::of(b"other"));
    assert_eq!(
        upstream_login(clean(b"own")).browser_of(&own),
        Some(mark(1))
    );
    assert_eq!(upstream_login(clean(b"own")).browser_of(&other), None);
    assert_eq!(upstream_login(legacy()).browser_of(&own), None);
}

#[test]
fn an_upstream_login_for_a_session_ends_with_the_session() {
    let session = session(SessionStatus::Unbound);
    let handle = Digest::of(b"handle");
    let upstream_login =
        UpstreamLogin::for_session(Seed::from_random([7; 32]), &session, handle, mark(1));
    assert_eq!(upstream_login.ends, session.ends);
    assert_eq!(upstream_login.login, session.login);
    assert_eq!(upstream_login.provider, session.provider);
    assert_eq!(upstream_login.project, session.project);
    assert_eq!(upstream_login.callback, session.redirect_uri.digest());
    assert_eq!(upstream_login.browser_of(&handle), Some(mark(1)));
}

#[test]
fn an_upstream_login_for_an_authorization_ends_after_600_seconds() {
    let state = State::from_random(&[1; 32]);
    let challenge = CodeVerifier::from_random(&[1; 32]).challenge();
    let home = callback("https://app.example/cb");
    let upstream_login = UpstreamLogin::for_authorization(
        Seed::from_random([7; 32]),
        &client("prj_ada"),
        &home,
        Provider::GitHub,
        (state.clone(), challenge.clone()),
        NOW,
    );
    assert_eq!(upstream_login.ends, NOW.plus_ms(600_000));
    assert_eq!(upstream_login.login, LoginId::of_state(&state));
    assert_eq!(upstream_login.callback, home.digest());
    let Purpose::Legacy {
        state: kept,
        challenge: tie,
    } = upstream_login.purpose
    else {
        panic!("it is a legacy upstream login");
    };
    assert!(kept.matches(&state));
    assert_eq!(tie, challenge);
}

#[test]
fn a_seed_is_not_shown() {
    assert_eq!(
        format!("{:?}", Seed::from_random([7; 32])),
        "Seed([redacted])"
    );
}

#[test]
fn a_code_lives_60_seconds_and_is_known_for_a_tokens_lifetime_more() {
    assert_eq!(CODE_LIFETIME_MS, 60_000);
    let challenge = CodeVerifier::from_random(&[1; 32]).challenge();
    let code = Digest::of(b"code");
    let grant = NewGrant::of(&upstream_login(legacy()), &challenge, ada(), code, NOW);
    assert_eq!(grant.code_ends, NOW.plus_ms(60_000));
    assert_eq!(grant.known_until, NOW.plus_ms(960_000));
    assert_eq!(grant.callback, Digest::of(b"callback"));
    assert_eq!(grant.project, client("prj_ada"));
}

#[test]
fn a_refused_redemption_names_the_first_rule_that_it_broke() {
    let challenge = |n: u8| CodeVerifier::from_random(&[n; 32]).challenge();
    let grant = Grant {
        login: LoginId::kept("abc".to_owned()),
        project: client("prj_ada"),
        callback: Digest::of(b"callback"),
        challenge: challenge(1),
    };
    let check = |project: &str, callback: &[u8], verifier: u8, expected: Rule| {
        let redemption = Redemption {
            code: Digest::of(b"code"),
            project: client(project),
            callback: Digest::of(callback),
            challenge: challenge(verifier),
            token: Digest::of(b"token"),
            token_ends: NOW,
            known_until: NOW,
        };
        assert_eq!(grant.explain(&redemption), expected);
    };
    check("prj_bob", b"other", 2, Rule::CodeClient);
    check("prj_ada", b"other", 2, Rule::CodeCallback);
    check("prj_ada", b"callback", 2, Rule::CodeVerifier);
    check("prj_ada", b"callback", 1, Rule::CodeExpiry);
}

#[test]
fn a_token_opens_its_profile_until_it_ends_or_is_ended() {
    let token = |profile| Token {
        login: LoginId::kept("abc".to_owned()),
        project: client("prj_ada"),
        profile,
        ends: NOW.plus_ms(900_000),
    };
    let check = |profile, ms: i64, expected| {
        assert_eq!(token(profile).open(NOW.plus_ms(ms)), expected);
    };
    check(Some(ada()), 0, Ok(ada()));
    check(Some(ada()), 899_999, Ok(ada()));
    check(Some(ada()), 900_000, Err(Rule::BearerExpiry));
    check(None, 0, Err(Rule::BearerEnded));
    check(None, 900_000, Err(Rule::BearerExpiry));
}

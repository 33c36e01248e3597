//! Login sessions: their browser and the reads of their result.

use broker::model::LoginId;
use broker::model::login_session::{
    Handle, LoginSession, NotAdmitted, ResultQuery, SessionStatus, StillPending,
};
use contract::{Digest, LoginResultRequest, Provider, Rule, SessionKey};

use super::{NOW, binding, callback, client};

pub(super) fn session(status: SessionStatus) -> LoginSession {
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

fn query() -> ResultQuery {
    ResultQuery {
        key: Digest::of(b"key"),
        project: client("prj_ada"),
        redirect_uri: callback("https://app.example/cb"),
    }
}

#[test]
fn a_refused_read_names_the_first_rule_that_it_broke() {
    #[track_caller]
    fn check(
        session: LoginSession,
        query: ResultQuery,
        ms: i64,
        expected: Result<StillPending, Rule>,
    ) {
        assert_eq!(session.explain(&query, NOW.plus_ms(ms)), expected);
    }
    let by_bob = || ResultQuery {
        project: client("prj_bob"),
        redirect_uri: callback("https://bob.example/cb"),
        ..query()
    };
    let with_other_callback = || ResultQuery {
        redirect_uri: callback("https://app.example/other"),
        ..query()
    };
    let pending = || session(SessionStatus::Unbound);
    let consumed = || session(SessionStatus::Consumed);
    check(pending(), query(), 0, Ok(StillPending));
    check(pending(), query(), 599_999, Ok(StillPending));
    check(pending(), query(), 600_000, Err(Rule::ResultExpiry));
    let completed = session(SessionStatus::Completed);
    check(completed, query(), 600_000, Err(Rule::ResultExpiry));
    let erased = session(SessionStatus::Erased);
    check(erased, query(), 0, Err(Rule::ResultExpiry));
    check(consumed(), query(), 0, Err(Rule::ResultOnce));
    check(consumed(), query(), 600_000, Err(Rule::ResultOnce));
    check(
        pending(),
        with_other_callback(),
        0,
        Err(Rule::ResultCallback),
    );
    check(
        consumed(),
        with_other_callback(),
        600_000,
        Err(Rule::ResultCallback),
    );
    check(pending(), by_bob(), 0, Err(Rule::ResultKnown));
    check(consumed(), by_bob(), 600_000, Err(Rule::ResultKnown));
}

#[test]
fn a_result_query_contains_the_digest_of_the_session_key() {
    let request = LoginResultRequest {
        client_id: client("prj_ada"),
        client_secret: "s".parse().unwrap(),
        session_key: SessionKey::from_random(&[1; 32]),
        redirect_uri: callback("https://app.example/cb"),
    };
    let query = ResultQuery::of(&request);
    assert_eq!(query.key, request.session_key.digest());
    assert_eq!(query.project, request.client_id);
    assert_eq!(query.redirect_uri, request.redirect_uri);
}

#[test]
fn a_session_admits_its_own_browser_while_it_is_pending() {
    #[track_caller]
    fn check(status: SessionStatus, ms: i64, expected: bool) {
        let admitted = session(status).admit(binding(1), NOW.plus_ms(ms));
        assert_eq!(admitted.is_ok(), expected);
    }
    check(SessionStatus::Unbound, 0, true);
    check(SessionStatus::Bound(binding(1)), 0, true);
    check(SessionStatus::Bound(binding(2)), 0, false);
    check(SessionStatus::Unbound, 599_999, true);
    check(SessionStatus::Unbound, 600_000, false);
    check(SessionStatus::Bound(binding(1)), 599_999, true);
    check(SessionStatus::Bound(binding(1)), 600_000, false);
    check(SessionStatus::Completed, 0, false);
    check(SessionStatus::Consumed, 0, false);
    check(SessionStatus::Erased, 0, false);
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
    for pending in [SessionStatus::Unbound, SessionStatus::Bound(binding(2))] {
        check(pending, 0, &NotAdmitted::OtherBrowser);
        check(pending, 599_999, &NotAdmitted::OtherBrowser);
        check(pending, 600_000, &over);
    }
    check(SessionStatus::Completed, 0, &over);
    check(SessionStatus::Consumed, 0, &over);
    check(SessionStatus::Erased, 0, &over);
}

#[test]
fn a_handle_is_redacted() {
    assert_eq!(
        format!("{:?}", Handle::from_random([7; 32])),
        "Handle([redacted])"
    );
}

//! Login sessions: opened, claimed, settled, taken.

use broker::model::login_session::{LoginOutcome, NotAdmitted, ResultQuery, SessionStatus};
use broker::store::{Bound, Completed, Opened};
use contract::{LoginError, Provider, Rule};

use super::bench::{Bench, CALLBACK, Read, ask, callback, mark, project};
use crate::users::ada;

const TAKEN: Read = Read::Refused(Rule::ResultOnce);
const EXPIRED: Read = Read::Refused(Rule::ResultExpiry);
const UNKNOWN: Read = Read::Refused(Rule::ResultKnown);

fn adas_profile() -> Read {
    Read::Outcome(LoginOutcome::Succeeded(ada()))
}

pub(super) async fn a_fresh_key_opens_a_login(bench: Bench) {
    assert_eq!(bench.open(1).await, Opened::Fresh);
    assert_eq!(bench.open(2).await, Opened::Fresh);
}

pub(super) async fn a_login_is_found_as_it_was_opened(bench: Bench) {
    bench.open(1).await;
    let login = bench.find(1).await.unwrap();
    assert_eq!(login.project, project("ada"));
    assert_eq!(login.redirect_uri, callback(CALLBACK));
    assert_eq!(login.provider, Provider::GitHub);
    assert_eq!(login.ends, bench.now().plus_ms(600_000));
    assert_eq!(login.known_until, bench.now().plus_ms(1_200_000));
    assert_eq!(login.status, SessionStatus::Unbound);
    assert_eq!(login.login.as_str().len(), 12);
}

pub(super) async fn an_unknown_handle_leads_nowhere(bench: Bench) {
    bench.open(1).await;
    assert!(bench.find(2).await.is_none());
}

pub(super) async fn a_key_is_taken_for_600_seconds(bench: Bench) {
    bench.open(1).await;
    assert_eq!(bench.open_with(1, 2, "ada").await, Opened::KeyTaken);
    bench.at_ms(599_999);
    assert_eq!(bench.open_with(1, 2, "ada").await, Opened::KeyTaken);
    bench.at_ms(600_000);
    assert_eq!(bench.open_with(1, 2, "ada").await, Opened::Fresh);
    assert_eq!(bench.open_with(1, 3, "ada").await, Opened::KeyTaken);
}

pub(super) async fn a_key_is_taken_in_any_project(bench: Bench) {
    bench.open_with(1, 1, "ada").await;
    bench.at_ms(599_999);
    assert_eq!(bench.open_with(1, 2, "bob").await, Opened::KeyTaken);
    bench.at_ms(600_000);
    assert_eq!(bench.open_with(1, 2, "bob").await, Opened::Fresh);
    assert_eq!(bench.find(2).await.unwrap().project, project("bob"));
}

pub(super) async fn a_settled_login_keeps_its_key_taken(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    bench.at_ms(599_999);
    assert_eq!(bench.open_with(1, 2, "ada").await, Opened::KeyTaken);
    bench.at_ms(600_000);
    assert_eq!(bench.open_with(1, 2, "ada").await, Opened::Fresh);
}

pub(super) async fn a_consumed_login_keeps_its_key_taken(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    bench.consume_result(1).await;
    bench.at_ms(599_999);
    assert_eq!(bench.open_with(1, 2, "ada").await, Opened::KeyTaken);
    bench.at_ms(600_000);
    assert_eq!(bench.open_with(1, 2, "ada").await, Opened::Fresh);
}

pub(super) async fn a_refused_opening_leaves_the_first_login_as_it_was(bench: Bench) {
    bench.open(1).await;
    bench.bind_browser(1, 1).await;
    bench.open_with(1, 2, "bob").await;
    assert!(bench.find(2).await.is_none());
    let first = bench.find(1).await.unwrap();
    assert_eq!(first.project, project("ada"));
    assert_eq!(first.status, SessionStatus::Bound(mark(1)));
    bench.finish(1).await;
    assert_eq!(bench.consume_result(1).await, adas_profile());
}

pub(super) async fn a_reused_key_forgets_everything_of_its_first_login(bench: Bench) {
    bench.open(1).await;
    bench.bind_browser(1, 1).await;
    bench.finish(1).await;
    bench.at_ms(600_000);
    bench.open_with(1, 2, "ada").await;
    assert!(bench.find(1).await.is_none(), "the old handle is unknown");
    assert!(matches!(
        bench.bind_browser(1, 1).await,
        Bound::Refused(None)
    ));
    let second = bench.find(2).await.unwrap();
    assert_eq!(second.status, SessionStatus::Unbound);
    assert_eq!(second.ends, bench.now().plus_ms(600_000));
    assert_eq!(second.known_until, bench.now().plus_ms(1_200_000));
    assert_eq!(bench.profiles("logins").await, 0);
    assert_eq!(bench.consume_result(1).await, Read::Pending);
    assert_eq!(bench.rows("logins").await, 1);
}

pub(super) async fn a_login_is_known_for_1200_seconds(bench: Bench) {
    bench.open(1).await;
    bench.at_ms(1_199_999);
    assert!(bench.find(1).await.is_some());
    assert!(matches!(
        bench.bind_browser(1, 1).await,
        Bound::Refused(Some(_))
    ));
    bench.at_ms(1_200_000);
    assert!(bench.find(1).await.is_none());
    assert!(matches!(
        bench.bind_browser(1, 1).await,
        Bound::Refused(None)
    ));
}

pub(super) async fn the_first_browser_gets_the_login(bench: Bench) {
    bench.open(1).await;
    let Bound::Granted(login) = bench.bind_browser(1, 1).await else {
        panic!("the first browser was refused");
    };
    assert_eq!(login.status, SessionStatus::Bound(mark(1)));
    assert_eq!(login.redirect_uri, callback(CALLBACK));
    assert_eq!(
        bench.find(1).await.unwrap().status,
        SessionStatus::Bound(mark(1))
    );
}

pub(super) async fn the_same_browser_gets_it_again(bench: Bench) {
    bench.open(1).await;
    assert!(bench.is_granted(1, 1).await);
    assert!(bench.is_granted(1, 1).await);
}

pub(super) async fn another_browser_is_refused_and_told_what_the_login_is(bench: Bench) {
    bench.open(1).await;
    bench.bind_browser(1, 1).await;
    let Bound::Refused(Some(login)) = bench.bind_browser(1, 2).await else {
        panic!("the second browser was not told");
    };
    assert_eq!(login.status, SessionStatus::Bound(mark(1)));
    assert_eq!(login.reject(bench.now()), NotAdmitted::OtherBrowser);
    assert!(bench.is_granted(1, 1).await, "the first one still has it");
}

pub(super) async fn a_claim_of_an_unknown_handle_tells_nothing(bench: Bench) {
    assert!(matches!(
        bench.bind_browser(1, 1).await,
        Bound::Refused(None)
    ));
}

pub(super) async fn a_settled_login_cannot_be_claimed(bench: Bench) {
    bench.open(1).await;
    bench.bind_browser(1, 1).await;
    bench.finish(1).await;
    for browser in [1, 2] {
        let Bound::Refused(Some(login)) = bench.bind_browser(1, browser).await else {
            panic!("browser {browser} was granted a settled login");
        };
        assert_eq!(login.status, SessionStatus::Completed);
        let over = NotAdmitted::Over {
            project: project("ada"),
            redirect_uri: callback(CALLBACK),
        };
        assert_eq!(login.reject(bench.now()), over);
    }
}

pub(super) async fn a_consumed_login_cannot_be_claimed(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    bench.consume_result(1).await;
    let Bound::Refused(Some(login)) = bench.bind_browser(1, 1).await else {
        panic!("a consumed login was granted");
    };
    assert_eq!(login.status, SessionStatus::Consumed);
}

pub(super) async fn a_login_can_be_claimed_until_its_600_seconds_are_over(bench: Bench) {
    bench.open(1).await;
    bench.at_ms(599_999);
    assert!(bench.is_granted(1, 1).await);
    bench.at_ms(600_000);
    assert!(!bench.is_granted(1, 1).await);
}

pub(super) async fn a_login_is_settled_once(bench: Bench) {
    bench.open(1).await;
    assert_eq!(bench.finish(1).await, Completed::Now);
    assert_eq!(
        bench.find(1).await.unwrap().status,
        SessionStatus::Completed
    );
    assert_eq!(bench.finish(1).await, Completed::TooLate);
}

pub(super) async fn the_first_outcome_stands(bench: Bench) {
    bench.open(1).await;
    let denied = LoginOutcome::Failed(LoginError::AccessDenied);
    bench.complete(1, denied.clone()).await;
    assert_eq!(bench.finish(1).await, Completed::TooLate);
    assert_eq!(bench.consume_result(1).await, Read::Outcome(denied));
}

pub(super) async fn a_login_is_settled_until_its_600_seconds_are_over(bench: Bench) {
    bench.open(1).await;
    bench.open(2).await;
    bench.at_ms(599_999);
    assert_eq!(bench.finish(1).await, Completed::Now);
    assert_eq!(bench.consume_result(1).await, adas_profile());
    bench.at_ms(600_000);
    assert_eq!(bench.finish(2).await, Completed::TooLate);
    assert_eq!(bench.profiles("logins").await, 0);
    assert_eq!(bench.consume_result(2).await, EXPIRED);
}

pub(super) async fn an_unknown_login_cannot_be_settled(bench: Bench) {
    bench.open(1).await;
    assert_eq!(bench.finish(2).await, Completed::TooLate);
    assert_eq!(bench.consume_result(1).await, Read::Pending);
}

pub(super) async fn a_consumed_login_cannot_be_settled_again(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    bench.consume_result(1).await;
    assert_eq!(bench.finish(1).await, Completed::TooLate);
    assert_eq!(bench.consume_result(1).await, TAKEN);
}

pub(super) async fn a_pending_read_does_not_consume_the_login(bench: Bench) {
    bench.open(1).await;
    for _ in 0..3 {
        assert_eq!(bench.consume_result(1).await, Read::Pending);
    }
    bench.finish(1).await;
    assert_eq!(bench.consume_result(1).await, adas_profile());
}

pub(super) async fn a_pending_login_expires(bench: Bench) {
    bench.open(1).await;
    bench.at_ms(599_999);
    assert_eq!(bench.consume_result(1).await, Read::Pending);
    bench.at_ms(600_000);
    assert_eq!(bench.consume_result(1).await, EXPIRED);
}

pub(super) async fn a_profile_is_taken_once(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    assert_eq!(bench.consume_result(1).await, adas_profile());
    assert_eq!(bench.find(1).await.unwrap().status, SessionStatus::Consumed);
    assert_eq!(bench.consume_result(1).await, TAKEN);
    assert_eq!(bench.consume_result(1).await, TAKEN);
}

pub(super) async fn each_error_is_taken_once(bench: Bench) {
    for (key, error) in (1..).zip(LoginError::ALL) {
        bench.open(key).await;
        bench.complete(key, LoginOutcome::Failed(error)).await;
        assert_eq!(
            bench.consume_result(key).await,
            Read::Outcome(LoginOutcome::Failed(error))
        );
        assert_eq!(bench.consume_result(key).await, TAKEN);
    }
}

pub(super) async fn an_outcome_can_be_taken_until_its_600_seconds_are_over(bench: Bench) {
    for key in [1, 2] {
        bench.open(key).await;
        bench.finish(key).await;
    }
    bench.at_ms(599_999);
    assert_eq!(bench.consume_result(1).await, adas_profile());
    bench.at_ms(600_000);
    assert_eq!(bench.consume_result(2).await, EXPIRED);
}

pub(super) async fn an_outcome_that_expired_stays_expired(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    for ms in [600_000, 600_001, 1_199_999] {
        bench.at_ms(ms);
        assert_eq!(bench.consume_result(1).await, EXPIRED);
    }
}

pub(super) async fn an_unknown_key_takes_nothing(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    assert_eq!(bench.consume_result(2).await, UNKNOWN);
}

pub(super) async fn another_project_takes_nothing_and_learns_nothing(bench: Bench) {
    let by_bob = || ResultQuery {
        project: project("bob"),
        ..ask(1)
    };
    bench.open(1).await;
    assert_eq!(bench.take_as(by_bob()).await, UNKNOWN, "while pending");
    bench.finish(1).await;
    assert_eq!(bench.take_as(by_bob()).await, UNKNOWN, "once settled");
    assert_eq!(bench.consume_result(1).await, adas_profile());
    assert_eq!(bench.take_as(by_bob()).await, UNKNOWN, "once consumed");
    bench.at_ms(600_000);
    assert_eq!(bench.take_as(by_bob()).await, UNKNOWN, "once expired");
}

pub(super) async fn another_callback_takes_nothing(bench: Bench) {
    let elsewhere = || ResultQuery {
        redirect_uri: callback("https://app.example/other"),
        ..ask(1)
    };
    let refused = Read::Refused(Rule::ResultCallback);
    bench.open(1).await;
    assert_eq!(bench.take_as(elsewhere()).await, refused);
    bench.finish(1).await;
    assert_eq!(bench.take_as(elsewhere()).await, refused);
    assert_eq!(bench.consume_result(1).await, adas_profile());
}

pub(super) async fn a_callback_that_differs_in_a_slash_is_another(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    for other in ["https://app.example/cb/", "https://app.example/CB"] {
        let ask = ResultQuery {
            redirect_uri: callback(other),
            ..ask(1)
        };
        assert_eq!(
            bench.take_as(ask).await,
            Read::Refused(Rule::ResultCallback)
        );
    }
    assert_eq!(bench.consume_result(1).await, adas_profile());
}

pub(super) async fn what_was_taken_stays_consumed_after_its_600_seconds(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    bench.consume_result(1).await;
    bench.at_ms(600_000);
    assert_eq!(bench.consume_result(1).await, TAKEN);
}

pub(super) async fn a_login_that_is_forgotten_is_unknown_to_a_read(bench: Bench) {
    bench.open(1).await;
    bench.at_ms(1_200_000);
    assert_eq!(bench.consume_result(1).await, UNKNOWN);
}

pub(super) async fn a_profile_leaves_its_row_with_the_answer(bench: Bench) {
    bench.open(1).await;
    bench.finish(1).await;
    assert_eq!(bench.profiles("logins").await, 1);
    bench.consume_result(1).await;
    assert_eq!(bench.profiles("logins").await, 0);
    assert_eq!(bench.rows("logins").await, 1);
}

pub(super) async fn two_logins_do_not_touch_each_other(bench: Bench) {
    bench.open(1).await;
    bench.open(2).await;
    bench.bind_browser(1, 1).await;
    assert!(bench.is_granted(2, 2).await);
    bench.finish(1).await;
    assert_eq!(bench.consume_result(2).await, Read::Pending);
    bench
        .complete(2, LoginOutcome::Failed(LoginError::ProviderUnavailable))
        .await;
    assert_eq!(bench.consume_result(1).await, adas_profile());
    assert_eq!(
        bench.consume_result(2).await,
        Read::Outcome(LoginOutcome::Failed(LoginError::ProviderUnavailable))
    );
}

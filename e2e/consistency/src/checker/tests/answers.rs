//! The user, the error and the browser of a login, and the text of a history.

use super::fixture::{
    ANN, BOB, READ, ada, answered, assert_right, assert_wrong, authorize, clean, clean_ending,
    deliver, history, legacy, profile, read, redeem, sign_in, start, visit,
};
use crate::history::Flow;
use crate::model::{Answer, Ending, Failure, Project, Step, Wrong};
use crate::operation::{Outcome, User};

#[test]
fn a_user_is_the_one_who_signed_in() {
    let bob = User::of("github", "2");
    let shown = clean(&[read(Answer::Succeeded(bob.clone()))]);
    assert_wrong(&shown, "the profile of another user");
    let shown = legacy(&[redeem(Answer::Token), profile(Answer::Profile(bob))]);
    assert_wrong(&shown, "the profile of another user");
    let renamed = User {
        subject: "sub_other".to_owned(),
        ..ada()
    };
    let shown = clean(&[read(Answer::Succeeded(renamed))]);
    assert_wrong(&shown, "the profile of another user");
    let declined = Ending::Error(Failure::Denied);
    let shown = clean_ending(declined, &[read(Answer::Succeeded(ada()))]);
    assert_wrong(&shown, "a login succeeded that should have failed");
}

#[test]
fn an_error_has_a_cause() {
    let failed = |ending, failure| clean_ending(ending, &[read(Answer::Failed(failure))]);
    assert_wrong(
        &failed(Ending::Success, Failure::Denied),
        "access_denied, which nothing caused",
    );
    let denied = Ending::Error(Failure::Denied);
    assert_right(&failed(denied, Failure::Denied));
    assert_wrong(
        &failed(denied, Failure::Invalid),
        "invalid_provider_response, which nothing caused",
    );
    let mut either = failed(Ending::Success, Failure::Unavailable);
    assert_wrong(&either, "which nothing caused");
    either.operations[2].steps.push(Step::SignIn {
        upstream_login: 1,
        ending: Ending::BadCode(Failure::Unavailable),
    });
    assert_right(&either);
}

#[test]
fn another_verifier_another_browser_and_another_answer_are_named() {
    let other_verifier = Step::Redeem {
        upstream_login: 1,
        by: Project::A,
        wrong: Some(Wrong::Verifier),
    };
    let forged = [answered(other_verifier, Answer::Token)];
    assert_wrong(&legacy(&forged), "another verifier");
    let intruded = [
        answered(start(1), Answer::Started),
        answered(visit(ANN, 1), Answer::ToProvider),
        answered(visit(BOB, 2), Answer::ToProvider),
    ];
    assert_wrong(
        &history(Flow::Clean, &intruded),
        "another browser was let into the login",
    );
    let strayed = [
        answered(authorize(), Answer::ToProvider),
        sign_in(Ending::Success),
        answered(deliver(BOB), Answer::CallbackWithCode),
    ];
    assert_wrong(
        &history(Flow::Legacy, &strayed),
        "a callback counted in another browser",
    );
    let strange = Outcome::Unexpected("GET /x answered 200".to_owned());
    assert_wrong(&clean(&[(READ, strange)]), "no answer to Read");
}

#[test]
fn a_cancelled_login_is_denied() {
    let cancel = Step::Cancel { login: 1, by: ANN };
    let unvouched = Step::VisitUnvouched { login: 1, by: ANN };
    let cancelled = |end| {
        let lines = [
            answered(start(1), Answer::Started),
            answered(unvouched, Answer::ConfirmationPage),
            answered(cancel, Answer::ToCallback),
            read(end),
        ];
        history(Flow::Clean, &lines)
    };
    assert_right(&cancelled(Answer::Failed(Failure::Denied)));
    assert_wrong(&cancelled(Answer::Pending), "a login was lost");
}

#[test]
fn a_history_can_be_read() {
    let mut history = legacy(&[redeem(Answer::Token), profile(Answer::Profile(ada()))]);
    history.operations[3].is_settled = false;
    let text = history.to_string();
    for part in [
        "login 1, legacy, at github",
        "Token (the broker was restarted)",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

//! The judge can fail: each false history is named for what is wrong with it, and
//! the true ones that look like it are not.

use broker::audit::Step;
use broker::model::LoginId;
use mock_upstream::Provider;

use super::*;
use crate::soak::story::Cast;
use crate::soak::told::Who;

const SECOND: i64 = 1_000;

/// Something that was done and told, one second after the last.
type Line = (Deed, Told);

fn story(flow: Flow, lines: &[Line]) -> Story {
    let key = "A".repeat(43).parse().unwrap();
    let mut story = Story::new(1, flow, Provider::Google, &LoginId::of_key(&key));
    story.casts.push(Cast {
        id: "1".to_owned(),
        at_ms: 0,
        misbehaviour: None,
        errors: Vec::new(),
        is_shadowed: false,
    });
    for (second, (deed, told)) in (0..).zip(lines) {
        story.tellings.push(Telling {
            deed: *deed,
            asked_ns: second * 1_000,
            told_ns: second * 1_000 + 500,
            asked_ms: i64::try_from(second).unwrap() * SECOND,
            told_ms: i64::try_from(second).unwrap() * SECOND + 500,
            is_settled: true,
            told: told.clone(),
        });
    }
    story
}

fn ada() -> Who {
    Who {
        provider: "google".to_owned(),
        id: "1".to_owned(),
        subject: "sub_ada".to_owned(),
    }
}

/// What the ledger has.
fn facts(steps: &[Step]) -> Facts {
    let mut facts = Facts::default();
    for step in steps {
        *facts.steps.entry(step.name().to_owned()).or_default() += 1;
    }
    facts
}

#[track_caller]
fn is_wrong(story: &Story, steps: &[Step], about: &str) {
    let wrong = judge(story, &facts(steps), &mut People::default());
    assert!(
        wrong.iter().any(|it| it.contains(about)),
        "{wrong:?}\n{story}"
    );
}

#[track_caller]
fn is_right(story: &Story, steps: &[Step]) {
    let wrong = judge(story, &facts(steps), &mut People::default());
    assert_eq!(wrong, Vec::<Violation>::new(), "{story}");
}

fn clean(more: &[Line]) -> Story {
    let lines = [
        (Deed::Open, Told::Opened),
        (Deed::Visit, Told::Departed),
        (Deed::Return(0), Told::Home),
    ];
    story(Flow::Clean, &[&lines, more].concat())
}

fn legacy(more: &[Line]) -> Story {
    let lines = [(Deed::Visit, Told::Departed), (Deed::Return(0), Told::Code)];
    story(Flow::Legacy, &[&lines, more].concat())
}

fn read(told: Told) -> Line {
    (Deed::Read, told)
}

fn redeem(told: Told) -> Line {
    (Deed::Redeem, told)
}

fn profile(told: Told) -> Line {
    (Deed::Profile, told)
}

const REFUSED: Told = Told::Refused(400);
const READ: [Step; 4] = [
    Step::Opened,
    Step::UpstreamLoginConsumed,
    Step::Completed,
    Step::ResultConsumed,
];
const REDEEMED: [Step; 3] = [
    Step::UpstreamLoginConsumed,
    Step::CodeIssued,
    Step::CodeRedeemed,
];

#[test]
fn a_login_that_went_well_is_right_in_both_model() {
    let ends = [read(Told::Succeeded(ada())), read(REFUSED)];
    is_right(&clean(&ends), &READ);
    let ends = [
        redeem(Told::Token),
        profile(Told::Profile(ada())),
        (Deed::Revoke, Told::Revoked),
        profile(Told::Refused(401)),
        redeem(REFUSED),
    ];
    is_right(&legacy(&ends), &REDEEMED);
}

#[test]
fn nothing_is_had_twice() {
    let twice = [read(Told::Succeeded(ada())), read(Told::Succeeded(ada()))];
    is_wrong(&clean(&twice), &READ, "a result was had twice");
    let twice = [redeem(Told::Token), redeem(Told::Token)];
    is_wrong(&legacy(&twice), &REDEEMED, "a code was had twice");
    let twice = [(Deed::Return(0), Told::Code)];
    is_wrong(
        &legacy(&twice),
        &REDEEMED[..2],
        "an upstream login was had twice",
    );
    let twice = [(Deed::Open, Told::Opened)];
    is_wrong(
        &clean(&twice),
        &[Step::Opened],
        "a session key was had twice",
    );
    let once = [redeem(Told::Nothing), redeem(Told::Token)];
    let twice = [&REDEEMED[..], &[Step::CodeRedeemed]].concat();
    is_wrong(&legacy(&once), &twice, "had twice, says the ledger");
    let settled_twice = [&READ[..], &[Step::Completed]].concat();
    is_wrong(&clean(&[]), &settled_twice, "settled twice");
}

#[test]
fn one_code_of_a_provider_is_exchanged_once() {
    let story = clean(&[read(Told::Succeeded(ada())), read(REFUSED)]);
    let exchanged = |exchanges| Facts {
        exchanges,
        ..facts(&READ)
    };
    let mut people = People::default();
    assert!(judge(&story, &exchanged(1), &mut people).is_empty());
    let wrong = judge(&story, &exchanged(2), &mut people);
    assert!(wrong[0].contains("2 exchanges"), "{wrong:?}");
}

#[test]
fn what_was_acknowledged_is_not_lost() {
    let settled = &READ[..3];
    is_wrong(&clean(&[read(REFUSED)]), settled, "a result was lost");
    is_wrong(
        &clean(&[read(Told::Pending)]),
        settled,
        "a login was lost: pending",
    );
    is_wrong(
        &legacy(&[redeem(REFUSED)]),
        &REDEEMED[..2],
        "a code was lost",
    );
    let turned_away = [(Deed::Visit, Told::Departed), (Deed::Return(0), REFUSED)];
    is_wrong(
        &story(Flow::Legacy, &turned_away),
        &[],
        "an upstream login was lost",
    );
    let gone = [redeem(Told::Token), profile(Told::Refused(401))];
    is_wrong(&legacy(&gone), &REDEEMED, "a token was lost");
    let used_up = [redeem(REFUSED)];
    is_wrong(&legacy(&used_up), &REDEEMED, "everybody was refused");
    let unknown = [read(Told::Succeeded(ada())), read(REFUSED)];
    is_wrong(&clean(&unknown), settled, "the ledger knows nothing of it");
}

#[test]
fn what_was_not_answered_is_as_the_ledger_says() {
    let lost = [read(Told::Nothing), read(REFUSED)];
    is_right(&clean(&lost), &READ);
    is_wrong(&clean(&lost), &READ[..3], "a result was lost");
    let lost = [redeem(Told::Nothing), redeem(REFUSED)];
    is_right(&legacy(&lost), &REDEEMED);
    is_wrong(&legacy(&lost), &REDEEMED[..2], "a code was lost");
}

#[test]
fn what_a_dying_broker_did_is_open() {
    let mut died = clean(&[read(Told::Nothing), read(REFUSED)]);
    died.tellings[3].is_settled = false;
    is_right(&died, &READ[..3]);
    let mut died = clean(&[read(Told::Pending)]);
    died.tellings[2].is_settled = false;
    died.tellings[2].told = Told::Nothing;
    is_right(&died, &READ[..2]);
}

#[test]
fn nothing_outlives_its_time() {
    let late = |mut story: Story, from: usize, by_ms: i64| {
        for telling in &mut story.tellings[from..] {
            telling.asked_ms += by_ms;
            telling.told_ms += by_ms;
        }
        story
    };
    let read = clean(&[read(Told::Succeeded(ada()))]);
    is_right(&read, &READ);
    let over = late(read, 3, LOGIN_LIVES_MS);
    is_wrong(&over, &READ, "a result was had after its time");
    let redeemed = legacy(&[redeem(Told::Token)]);
    let over = late(redeemed, 2, CODE_LIVES_MS);
    is_wrong(&over, &REDEEMED, "a code was had after its time");
    let shown = legacy(&[redeem(Told::Token), profile(Told::Profile(ada()))]);
    let over = late(shown, 3, TOKEN_LIVES_MS);
    is_wrong(&over, &REDEEMED, "a token outlived its end");
    let refused = late(legacy(&[redeem(REFUSED)]), 2, CODE_LIVES_MS);
    is_right(&refused, &REDEEMED[..2]);
}

#[test]
fn a_key_is_free_again_after_its_login() {
    let mut again = story(
        Flow::Clean,
        &[(Deed::Open, Told::Opened), (Deed::Open, Told::Opened)],
    );
    let opened_twice = [Step::Opened; 2];
    is_wrong(&again, &opened_twice, "a session key was had twice");
    again.tellings[1].asked_ms += LOGIN_LIVES_MS;
    again.tellings[1].told_ms += LOGIN_LIVES_MS;
    is_right(&again, &opened_twice);
}

#[test]
fn a_token_that_was_ended_opens_nothing() {
    let after = |end: Line| {
        let ends = [redeem(Told::Token), end, profile(Told::Profile(ada()))];
        legacy(&ends)
    };
    is_wrong(
        &after((Deed::Revoke, Told::Revoked)),
        &REDEEMED,
        "outlived its end",
    );
    is_wrong(&after(redeem(REFUSED)), &REDEEMED, "outlived its end");
    // It may not have been heard by the broker either.
    is_right(&after((Deed::Revoke, Told::Nothing)), &REDEEMED);
}

#[test]
fn a_person_is_nobody_else() {
    let other = Who {
        id: "2".to_owned(),
        ..ada()
    };
    let shown = clean(&[read(Told::Succeeded(other))]);
    is_wrong(&shown, &READ, "who was not there");
    let shown = legacy(&[redeem(Told::Token), profile(Told::Profile(ada()))]);
    let mut misbehaved = shown.clone();
    misbehaved.casts[0].errors = vec!["access_denied"];
    is_wrong(&misbehaved, &REDEEMED, "should have failed");

    let mut people = People::default();
    let renamed = Who {
        subject: "sub_other".to_owned(),
        ..ada()
    };
    let facts = facts(&REDEEMED);
    assert!(judge(&shown, &facts, &mut people).is_empty());
    let renamed = legacy(&[redeem(Told::Token), profile(Told::Profile(renamed))]);
    let wrong = judge(&renamed, &facts, &mut people);
    assert!(wrong[0].contains("two subjects"), "{wrong:?}");
}

#[test]
fn nobody_fails_for_nothing() {
    let failed = |error: &str| clean(&[read(Told::Failed(error.to_owned()))]);
    is_wrong(&failed("access_denied"), &READ, "which nobody has caused");
    let mut declined = failed("access_denied");
    declined.casts[0].errors = vec!["access_denied"];
    is_right(&declined, &READ);
    let mut shadowed = failed("provider_unavailable");
    shadowed.casts[0].is_shadowed = true;
    is_right(&shadowed, &READ);
}

#[test]
fn a_wrong_verifier_another_browser_and_a_strange_answer_are_named() {
    let forged = [(Deed::RedeemWrongly, Told::Token)];
    is_wrong(&legacy(&forged), &REDEEMED, "a wrong verifier");
    let intruded = [
        (Deed::Open, Told::Opened),
        (Deed::Visit, Told::Departed),
        (Deed::Intrude, Told::Departed),
    ];
    let intruded = story(Flow::Clean, &intruded);
    is_wrong(&intruded, &READ[..1], "another browser was let in");
    let strayed = [(Deed::Stray, Told::Code), (Deed::Return(0), REFUSED)];
    is_wrong(&story(Flow::Legacy, &strayed), &[], "in another browser");
    let strange = clean(&[read(Told::Strange("GET /x: 200".to_owned()))]);
    is_wrong(&strange, &READ[..3], "no answer to Read");
}

#[test]
fn a_history_can_be_read_and_tells_no_secret() {
    let mut story = legacy(&[redeem(Told::Token), profile(Told::Profile(ada()))]);
    story.tellings[2].is_settled = false;
    let told = story.to_string();
    for part in [
        "login 1, legacy, at google",
        "Redeem: Token (the broker was restarted)",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(!told.contains(&"A".repeat(43)), "{told}");
}

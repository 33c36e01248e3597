//! Every lesson, played as a student would: by the buttons and links of its own page.

use testkit::http::Http;

use crate::lesson_page::{Student, play};
use crate::user::Flow;
use thirtyfour::error::WebDriverResult;

/// Starts a login at the demo by the link of a step.
async fn starts(student: &Student<'_>, step: usize, provider: &str) -> WebDriverResult<()> {
    student.opens_the_demo_of(step).await?;
    student.user.starts(Flow::Clean, provider).await
}

/// Signs in as Ada with Google, by the link of a step.
async fn signs_in(student: &Student<'_>, step: usize) -> WebDriverResult<()> {
    starts(student, step, "google").await?;
    student.user.chooses("ada").await
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_1_a_first_sign_in() {
    play(async |_stack, student| {
        student.opens("/").await?;
        student.sees("#sequence", "Begin with lesson 1").await?;
        student.begins("first-sign-in").await?;
        student.sees_ticks(0, 3).await?;
        starts(student, 1, "google").await?;
        student.user.is_at_the_mock_of("google").await?;
        student.returns().await?;
        student.sees_ticks(1, 3).await?;
        student.takes_picture("lesson-1-under-way").await?;
        signs_in(student, 1).await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        student.completes(3).await?;
        student.takes_picture("lesson-1-done").await?;
        student.clicks("#step-3 .seen a").await?;
        student
            .sees("#exchange", "\"name\": \"Ada Lovelace\"")
            .await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_2_where_the_key_lives() {
    play(async |_stack, student| {
        student.begins("where-the-key-lives").await?;
        let demo = student.opens_the_demo_of(1).await?;
        student.user.starts(Flow::Clean, "google").await?;
        student.user.is_at_the_mock_of("google").await?;
        student.returns().await?;
        student.sees_ticks(2, 4).await?;
        student.user.switches_to(&demo).await?;
        student.user.chooses("ada").await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        student.completes(4).await?;
        student.clicks("#step-1 .seen a").await?;
        student
            .sees("#exchange", "\"session_key\": \"[masked")
            .await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_3_two_tabs() {
    play(async |_stack, student| {
        student.begins("two-tabs").await?;
        let first = student.opens_the_demo_of(1).await?;
        student.user.starts(Flow::Clean, "google").await?;
        student.user.is_at_the_mock_of("google").await?;
        student.returns().await?;
        student.sees_ticks(1, 5).await?;
        let second = student.opens_the_demo_of(2).await?;
        student.user.starts(Flow::Clean, "github").await?;
        student.user.is_at_the_mock_of("github").await?;
        student.returns().await?;
        student.sees_ticks(2, 5).await?;
        student.user.switches_to(&first).await?;
        student.user.chooses("ada").await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        student.sees_ticks(4, 5).await?;
        student.user.switches_to(&second).await?;
        student.user.chooses("grace").await?;
        student.user.sees_field("provider", "github").await?;
        student.returns().await?;
        student.completes(5).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_4_the_user_cancels() {
    play(async |_stack, student| {
        student.begins("cancel").await?;
        starts(student, 1, "github").await?;
        student.user.cancels().await?;
        student.user.sees_problem("access_denied").await?;
        student.returns().await?;
        student.completes(3).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_5_the_provider_fails() {
    fails_by_plan("provider-fails", "provider_unavailable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_6_a_forged_id_token() {
    fails_by_plan("forged-id-token", "invalid_provider_response").await;
}

async fn fails_by_plan(lesson: &str, problem: &str) {
    play(async |_stack, student| {
        student.begins(lesson).await?;
        student.presses(1).await?;
        student.sees_ticks(1, 3).await?;
        starts(student, 2, "google").await?;
        student.user.sees_problem(problem).await?;
        student.returns().await?;
        student.completes(3).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_7_the_lost_answer() {
    play(async |_stack, student| {
        student.begins("lost-answer").await?;
        student.presses(1).await?;
        student.sees_ticks(1, 4).await?;
        let demo = student.opens_the_demo_of(2).await?;
        student.user.starts(Flow::Clean, "google").await?;
        student.user.chooses("ada").await?;
        student.user.sees_problem("lost").await?;
        student.returns().await?;
        student.sees_ticks(2, 4).await?;
        student.presses(3).await?;
        student.sees_ticks(3, 4).await?;
        student.user.switches_to(&demo).await?;
        student.user.starts_again().await?;
        student.user.chooses("ada").await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        student.completes(4).await?;
        student.sees_no(".notice").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_8_a_replay() {
    play(async |_stack, student| {
        student.begins("replay").await?;
        signs_in(student, 1).await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        student.sees_ticks(2, 3).await?;
        student.presses(3).await?;
        student.completes(3).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_9_ten_minutes() {
    play(async |stack, student| {
        student.begins("expiry").await?;
        let demo = student.opens_the_demo_of(1).await?;
        student.user.starts(Flow::Clean, "google").await?;
        student.user.is_at_the_mock_of("google").await?;
        student.returns().await?;
        student.sees_ticks(1, 4).await?;
        student.presses(2).await?;
        student.sees_ticks(2, 4).await?;
        assert_eq!(stack.clock().advanced_ms(), 600_000);
        student.user.switches_to(&demo).await?;
        student.user.chooses("ada").await?;
        student.user.sees_problem("expired").await?;
        student.user.starts_again().await?;
        student.user.chooses("ada").await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        student.completes(4).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_10_the_relay() {
    play(async |_stack, student| {
        student.begins("relay").await?;
        student.presses(1).await?;
        student.sees_ticks(1, 5).await?;
        student.sees("#desk .state", "waits for the victim").await?;
        student.follows_into_a_tab("#desk .bait").await?;
        student.user.sees_confirmation_page().await?;
        student.returns().await?;
        student.sees_ticks(2, 5).await?;
        student.sees("#desk .state", "who is asked").await?;
        student.takes_picture("lesson-10-asked").await?;
        // A careful victim.
        student.follows_into_a_tab("#desk .bait").await?;
        student.user.cancels_confirmation().await?;
        student.user.sees_problem("no_session").await?;
        student.returns().await?;
        student.sees("#desk .state", "pressed Cancel").await?;
        student.sees(".notice", "That is the right way out").await?;
        student.clicks("#desk li form button").await?;
        student.sees("#desk .read", "access_denied").await?;
        student.sees_ticks(2, 5).await?;
        // A careless one.
        student.presses(1).await?;
        student.sees("#desk .state", "waits for the victim").await?;
        student.follows_into_a_tab("#desk .bait").await?;
        student.user.waits_and_continues().await?;
        student.user.chooses("ada").await?;
        student.user.sees_problem("no_session").await?;
        student.returns().await?;
        student.sees("#desk .state", "the result is ready").await?;
        student.clicks("#desk li form button").await?;
        student
            .sees("#desk .read", "signed the attacker in as Ada Lovelace")
            .await?;
        student.sees_ticks(3, 5).await?;
        // Without the guard.
        student.clicks("#guard-off").await?;
        student.finds("#guard-off[aria-pressed='true']").await?;
        student.presses(4).await?;
        student.sees("#desk .state", "waits for the victim").await?;
        student.follows_into_a_tab("#desk .bait").await?;
        student.user.chooses("ada").await?;
        student.user.sees_problem("no_session").await?;
        student.returns().await?;
        student
            .sees("#desk li:first-child .state", "the result is ready")
            .await?;
        student.clicks("#desk li form button").await?;
        student.sees_ticks(4, 5).await?;
        // The legacy flow.
        student.presses(5).await?;
        student.sees("#desk li", "Browser authorization").await?;
        student.follows_into_a_tab("#desk .bait").await?;
        student.user.chooses("ada").await?;
        student.user.sees_problem("no_session").await?;
        student.returns().await?;
        student
            .sees("#desk li:first-child .state", "the code went to")
            .await?;
        student.clicks("#desk li form button").await?;
        student.sees("#desk .read", "no code and no state").await?;
        student.takes_picture("lesson-10-done").await?;
        student.completes(5).await?;
        student.clicks("#begin").await?;
        student.finds("#guard-auto[aria-pressed='true']").await?;
        student
            .sees("#desk", "No login of the attacker’s yet")
            .await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_reset_the_lesson_says_so_and_begins_again() {
    play(async |stack, student| {
        student.begins("first-sign-in").await?;
        signs_in(student, 1).await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        student.sees_ticks(3, 3).await?;
        let control = Http::at(&stack.urls().control);
        assert_eq!(control.post("/api/reset").send().await.status, 204);
        student.clicks("#check").await?;
        student.sees(".notice", "The stack was reset").await?;
        student.sees_ticks(0, 3).await?;
        student.clicks("#begin-again-now").await?;
        student.sees("#check", "Check again").await?;
        student.sees_no(".notice").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_out_of_order_is_explained_and_can_be_repeated() {
    play(async |_stack, student| {
        student.begins("lost-answer").await?;
        signs_in(student, 2).await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        student.sees(".notice", "nothing was armed").await?;
        student.sees_ticks(0, 4).await?;
        student.presses(1).await?;
        signs_in(student, 2).await?;
        student.user.sees_problem("lost").await?;
        student.returns().await?;
        student.sees_ticks(2, 4).await?;

        student.begins("two-tabs").await?;
        let first = student.opens_the_demo_of(1).await?;
        student.user.starts(Flow::Clean, "google").await?;
        student.user.is_at_the_mock_of("google").await?;
        student.returns().await?;
        starts(student, 2, "github").await?;
        student.user.chooses("grace").await?;
        student.user.sees_field("provider", "github").await?;
        student.returns().await?;
        student
            .sees(".notice", "Step 5 happened before step 3")
            .await?;
        student.finds("#begin-again-now").await?;
        student.user.switches_to(&first).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_logins_the_student_chooses_the_one_that_counts() {
    play(async |_stack, student| {
        student.begins("first-sign-in").await?;
        signs_in(student, 1).await?;
        student.user.is_signed_in_as("Ada Lovelace").await?;
        student.returns().await?;
        starts(student, 1, "github").await?;
        student.user.is_at_the_mock_of("github").await?;
        student.returns().await?;
        student.sees(".notice", "2 logins have started").await?;
        student.sees_ticks(3, 3).await?;
        student.clicks(".notice a").await?;
        student.sees_ticks(1, 3).await?;
        student.clicks(".notice a").await?;
        student.sees_ticks(3, 3).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_a_lesson_is_checked_by_a_link() {
    play(async |_stack, student| {
        student.user.disables_scripts().await?;
        student.begins("lost-answer").await?;
        student.presses(1).await?;
        student.sees_ticks(1, 4).await?;
        signs_in(student, 2).await?;
        student.user.sees_problem("lost").await?;
        student.returns().await?;
        student.sees_ticks(1, 4).await?;
        student.clicks("#check").await?;
        student.sees_ticks(2, 4).await?;
        student.presses(3).await?;
        student.sees_ticks(3, 4).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_lesson_leads_to_the_list() {
    play(async |_stack, student| {
        student.opens("/lessons/juggling").await?;
        student.sees(".notice", "There is no such lesson").await?;
        student.finds(".cards a[href='/lessons/replay']").await?;
        student.opens("/lessons/replay?run=x&since=1").await?;
        student.sees(".notice", "The stack was reset").await?;
        student.opens("/lessons/replay?since=many").await?;
        student.sees("#begin", "Begin").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_another_origin_can_press_a_button_of_a_lesson() {
    play(async |stack, _student| {
        let forms = [
            ("/do/lesson", [("lesson", "relay")]),
            ("/do/guard", [("guard", "off")]),
            ("/do/attack", [("flow", "clean")]),
            ("/do/attack/read", [("login", "any")]),
        ];
        for (path, fields) in forms {
            for origin in ["https://evil.example", "null", &stack.urls().consumer] {
                let form = Http::at(&stack.urls().control).post(path);
                let form = form.header("Origin", origin).form(&fields);
                assert_eq!(form.send().await.status, 403, "{path} {origin}");
            }
        }
        assert!(stack.event_log().events(0, None).is_empty());
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lessons_fit_every_screen() {
    play(async |_stack, student| {
        student.begins("relay").await?;
        student.presses(1).await?;
        student.sees("#desk .state", "waits for the victim").await?;
        for width in [320, 390, 1280] {
            student.has_screen(width).await?;
            let picture = format!("lesson-relay-{width}");
            student.user.sees_no_sideways_scroll(&picture).await?;
        }
        student.opens("/lessons").await?;
        for width in [320, 390, 1280] {
            student.has_screen(width).await?;
            let picture = format!("lessons-{width}");
            student.user.sees_no_sideways_scroll(&picture).await?;
        }
        student.user.prefers_dark_colours().await?;
        student.takes_picture("lessons-dark").await?;
        student.begins("expiry").await?;
        student.takes_picture("lesson-dark").await
    })
    .await;
}

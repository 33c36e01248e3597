//! Lessons, played as a student would: by the buttons and links of their own page, with the
//! demo in other tabs.

use thirtyfour::error::WebDriverResult;

use crate::user::{Flow, User};

/// In a lesson.
impl User<'_> {
    /// Goes from the list of lessons to this one, and begins.
    pub(crate) async fn begins(&self, lesson: &str) -> WebDriverResult<()> {
        self.opens_control("/lessons").await?;
        let link = format!(".cards a[href='/lessons/{lesson}']");
        self.clicks(&link).await?;
        self.clicks("#begin").await?;
        self.sees("#check", "Check again").await
    }

    /// Follows the link of a step to the demo, into a new tab, and starts a sign-in there.
    async fn starts_by(&self, step: usize, provider: &str) -> WebDriverResult<()> {
        let demo = format!("#step-{step} a.button");
        self.follows_into_a_tab(&demo).await?;
        self.starts(Flow::Clean, provider).await?;
        self.is_at_the_mock_of(provider).await
    }

    /// Waits until the first `done` of `all` steps are ticked, and no other.
    async fn sees_ticks(&self, done: usize, all: usize) -> WebDriverResult<()> {
        for step in 1..=all {
            let state = if step <= done { ".done" } else { ":not(.done)" };
            self.finds(&format!("#step-{step}{state}")).await?;
        }
        Ok(())
    }

    /// Waits for the last tick: the closing paragraph with rules and lines of code.
    async fn completes(&self, all: usize) -> WebDriverResult<()> {
        self.sees_ticks(all, all).await?;
        self.sees("#closing-title", "All steps are done").await?;
        let code = "#closing a[href^='/source/consumer-demo/src/'][href*='#L']";
        self.finds(code).await?;
        self.finds("#next").await.map(drop)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_1_a_first_sign_in() {
    at_the_stack!(async |_stack, student| {
        let lesson = student.tab().await?;
        student.opens_control("/").await?;
        student.sees("#sequence", "Begin with lesson 1").await?;
        student.begins("first-sign-in").await?;
        student.sees_ticks(0, 3).await?;
        student.starts_by(1, "google").await?;
        let demo = student.tab().await?;
        student.switches_to(&lesson).await?;
        student.sees_ticks(1, 3).await?;
        student.switches_to(&demo).await?;
        student.chooses("ada").await?;
        student.is_signed_in_as("Ada Lovelace").await?;
        student.switches_to(&lesson).await?;
        student.completes(3).await?;
        student.finds("a[href^='/present/']").await?;
        student.clicks("#step-3 .seen a").await?;
        student
            .sees("#exchange", "\"name\": \"Ada Lovelace\"")
            .await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_10_the_relay() {
    at_the_stack!(async |_stack, student| {
        let lesson = student.tab().await?;
        student.begins("relay").await?;
        // A careful victim.
        student.clicks("#do-1").await?;
        student.sees("#desk .state", "waits for the victim").await?;
        student.follows_into_a_tab("#desk .bait").await?;
        student.sees_confirmation_page().await?;
        student.switches_to(&lesson).await?;
        student.sees_ticks(2, 5).await?;
        student.sees("#desk .state", "who is asked").await?;
        student.follows_into_a_tab("#desk .bait").await?;
        student.cancels_confirmation().await?;
        student.sees_problem("no_session").await?;
        student.switches_to(&lesson).await?;
        student.sees("#desk .state", "pressed Cancel").await?;
        student.sees(".notice", "That is the right way out").await?;
        student.clicks("#desk li form button").await?;
        student.sees("#desk .read", "access_denied").await?;
        student.sees_ticks(2, 5).await?;
        // A careless one, one without the guard, and one in the legacy flow.
        let clean = [
            "waits for the victim",
            "the result is ready",
            "signed the attacker in as Ada",
        ];
        let legacy = [
            "Browser authorization",
            "the code went to",
            "no code and no state",
        ];
        for (step, [sent, ready, read]) in [(1, clean), (4, clean), (5, legacy)] {
            if step == 4 {
                student.clicks("#guard-off").await?;
                student.finds("#guard-off[aria-pressed='true']").await?;
            }
            student.clicks(&format!("#do-{step}")).await?;
            let newest = "#desk li:first-child";
            student.sees(newest, sent).await?;
            student.follows_into_a_tab("#desk .bait").await?;
            if step == 1 {
                student.waits_and_continues().await?;
            }
            student.chooses("ada").await?;
            student.sees_problem("no_session").await?;
            student.switches_to(&lesson).await?;
            student.sees(newest, ready).await?;
            student.clicks("#desk li form button").await?;
            student.sees("#desk .read", read).await?;
            student.sees_ticks(step.max(3), 5).await?;
        }
        student.completes(5).await?;
        student.clicks("#begin").await?;
        student.finds("#guard-auto[aria-pressed='true']").await?;
        student
            .sees("#desk", "No login of the attacker’s yet")
            .await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_buttons_work_and_a_link_checks_the_lesson() {
    at_the_stack!(async |stack, student| {
        let lesson = student.tab().await?;
        student.disables_scripts().await?;
        student.begins("lost-answer").await?;
        student.clicks("#do-1").await?;
        student.sees_ticks(1, 4).await?;
        student.starts_by(2, "google").await?;
        student.chooses("ada").await?;
        student.sees_problem("lost").await?;
        student.switches_to(&lesson).await?;
        student.sees_ticks(1, 4).await?;
        student.clicks("#check").await?;
        student.sees_ticks(2, 4).await?;
        student.clicks("#do-3").await?;
        student.sees_ticks(3, 4).await?;

        for planned in ["provider-fails", "forged-id-token"] {
            student.begins(planned).await?;
            student.clicks("#do-1").await?;
            student.sees_ticks(1, 3).await?;
        }
        student.begins("expiry").await?;
        student.starts_by(1, "google").await?;
        student.switches_to(&lesson).await?;
        student.clicks("#check").await?;
        student.clicks("#do-2").await?;
        student.sees_ticks(2, 4).await?;
        assert_eq!(stack.clock().advanced_ms(), 600_000);

        student.opens_control("/lessons/juggling").await?;
        student.sees(".notice", "There is no such lesson").await?;
        student
            .opens_control("/lessons/replay?run=x&since=1")
            .await?;
        student.sees(".notice", "The stack was reset").await?;
        student.opens_control("/lessons/replay?since=many").await?;
        student.sees("#begin", "Begin").await?;
    });
}

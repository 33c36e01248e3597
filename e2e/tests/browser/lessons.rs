//! Lessons, played as a student would: by the buttons and links of their own page, with the
//! demo in other tabs.

use thirtyfour::error::WebDriverResult;

use crate::user::{Flow, User};

/// In a lesson.
impl User<'_> {
    /// Goes from the list of lessons to this one, which begins it.
    pub(crate) async fn begins(&self, lesson: &str) -> WebDriverResult<()> {
        self.opens_control("/lessons").await?;
        let link = format!(".cards a[href='/lessons/{lesson}']");
        self.clicks(&link).await?;
        self.sees("#check", "Check again").await
    }

    /// Follows the link of a step to the demo, into a new tab, and starts a sign-in there.
    async fn starts_by(&self, step: usize, flow: Flow, provider: &str) -> WebDriverResult<()> {
        let demo = format!("#step-{step} a.button");
        self.follows_into_a_tab(&demo).await?;
        self.starts(flow, provider).await?;
        self.is_at_the_mock_of(provider).await
    }

    /// Chooses an answer to the question of a step.
    async fn answers(&self, step: usize, option: usize) -> WebDriverResult<()> {
        let option = format!("#step-{step} .options li:nth-child({option}) a");
        self.clicks(&option).await
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
        student.has_a_window_of(1280, 900).await?;
        let lesson = student.tab().await?;
        student.opens_control("/").await?;
        student.sees("#sequence", "Begin with lesson 1").await?;
        student.begins("first-sign-in").await?;
        student.sees_ticks(0, 3).await?;
        // Faint arrows show what is to come.
        student.finds(".diagram .step.ahead").await?;
        student.starts_by(1, Flow::Clean, "google").await?;
        let demo = student.tab().await?;
        student.switches_to(&lesson).await?;
        student.sees_ticks(1, 3).await?;
        student.switches_to(&demo).await?;
        student.chooses("ada").await?;
        student.is_signed_in_as("Ada Lovelace").await?;
        student.switches_to(&lesson).await?;
        student.sees_ticks(2, 3).await?;
        student.sees_no(".diagram .step.ahead").await?;
        // Two answers by clicking arrows of the diagram: a wrong one, and the right one.
        let arrow = |label: &str| format!(".diagram a.step[aria-label*='{label}']");
        student.clicks(&arrow("callback, no parameters")).await?;
        student
            .sees(".verdict.wrong", "nothing in its address")
            .await?;
        student.sees_ticks(2, 3).await?;
        student.clicks(&arrow("200 succeeded")).await?;
        student.completes(3).await?;
        student.finds("a[href^='/present/']").await?;
        // The browser remembers the language and what is done.
        student.clicks("label[for='language-Rust']").await?;
        student.clicks("#next").await?;
        student.finds("#language-Rust:checked").await?;
        student.opens_control("/lessons").await?;
        student
            .sees("[data-lesson='first-sign-in']", "✓ done")
            .await?;
        student.sees("#continue", "Continue lesson 2").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_10_the_relay() {
    at_the_stack!(async |_stack, student| {
        let lesson = student.tab().await?;
        student.begins("relay").await?;
        // A careful victim.
        student.clicks("#do-1").await?;
        student
            .sees("#attacks .state", "waits for the victim")
            .await?;
        student.follows_into_a_tab("#step-2 a.button").await?;
        student.sees_confirmation_page().await?;
        student.cancels_confirmation().await?;
        student.sees_problem("no_session").await?;
        student.switches_to(&lesson).await?;
        student.sees_ticks(2, 6).await?;
        student.sees("#attacks .state", "pressed Cancel").await?;
        student.sees(".notice", "That is the right way out").await?;
        student.clicks("#attacks li form button").await?;
        student.sees("#attacks .read", "is not signed in").await?;
        student.sees_ticks(2, 6).await?;
        // A careless one, one without the guard, and one in the legacy flow.
        let clean = [
            "waits for the victim",
            "the result is ready",
            "is signed in",
        ];
        let legacy = [
            "Browser authorization",
            "the code went to",
            "is not signed in",
        ];
        for (step, done, [sent, ready, read]) in [(1, 3, clean), (4, 4, clean), (6, 6, legacy)] {
            if step == 4 {
                student.clicks("#guard-off").await?;
                student.finds("#guard-off[aria-pressed='true']").await?;
                student.sees("#guard", "The relay guard is off").await?;
            }
            if step == 6 {
                student.answers(5, 3).await?;
            }
            student.clicks(&format!("#do-{step}")).await?;
            let newest = "#attacks li:first-child";
            student.sees(newest, sent).await?;
            let bait = "#attacks li:first-child .bait";
            student.follows_into_a_tab(bait).await?;
            if step == 1 {
                student.waits_and_continues().await?;
            }
            student.chooses("grace").await?;
            student.sees_problem("no_session").await?;
            student.switches_to(&lesson).await?;
            student.sees(newest, ready).await?;
            student
                .clicks("#attacks li:first-child form button")
                .await?;
            student.sees("#attacks li:first-child .read", read).await?;
            student.sees_ticks(done, 6).await?;
            if step == 4 {
                // The demo as the attacker sees it.
                let frame = "return document.querySelector('#attacks iframe').srcdoc";
                let page = student.runs(frame).await?.to_string();
                assert!(page.contains("Signed in as"), "{page}");
            }
        }
        student.completes(6).await?;
        student.clicks("#guard button").await?;
        student.finds("#guard-auto[aria-pressed='true']").await?;
        student.sees_no("#guard .banner").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_11_and_12_the_legacy_flow_is_attacked() {
    at_the_stack!(async |_stack, student| {
        let lesson = student.tab().await?;
        student.begins("forged-state").await?;
        student.clicks("#do-1").await?;
        student.answers(2, 1).await?;
        student.clicks("#do-3").await?;
        student.sees("#attacks .read", "is not signed in").await?;
        student
            .sees("#step-2", "It did not call the broker")
            .await?;
        student.follows_into_a_tab("#step-4 a.button").await?;
        student.chooses("grace").await?;
        student.sees_problem("no_session").await?;
        student.switches_to(&lesson).await?;
        student.completes(4).await?;

        student.begins("code-twice").await?;
        student.starts_by(1, Flow::Legacy, "google").await?;
        student.chooses("katherine").await?;
        student.is_signed_in_as("Katherine Johnson").await?;
        student.switches_to(&lesson).await?;
        student.answers(2, 3).await?;
        student.clicks("#do-3").await?;
        student.sees_ticks(3, 4).await?;
        student.clicks("#do-4").await?;
        student.completes(4).await?;
        student.sees("#step-4 .seen", "has ended the token").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_buttons_work_and_a_link_checks_the_lesson() {
    at_the_stack!(async |stack, student| {
        let lesson = student.tab().await?;
        student.disables_scripts().await?;
        student.begins("lost-answer").await?;
        student.clicks("#do-1").await?;
        student.sees_ticks(1, 5).await?;
        student.starts_by(2, Flow::Clean, "google").await?;
        student.chooses("hedy").await?;
        student.sees_problem("lost").await?;
        student.switches_to(&lesson).await?;
        student.sees_ticks(1, 5).await?;
        student.clicks("#check").await?;
        student.sees_ticks(2, 5).await?;
        student.answers(3, 1).await?;
        student.sees_ticks(3, 5).await?;
        student.clicks("#do-4").await?;
        student.sees_ticks(4, 5).await?;

        student.begins("provider-fails").await?;
        student.clicks("#do-1").await?;
        student.sees_ticks(1, 3).await?;
        // What one lesson has armed is in the way of another.
        student.begins("expiry").await?;
        student
            .sees(".notice", "1 fault or failure is armed")
            .await?;
        student.clicks("#clear-them").await?;
        student.sees_no(".notice").await?;
        student.starts_by(1, Flow::Clean, "google").await?;
        student.switches_to(&lesson).await?;
        student.clicks("#check").await?;
        student.clicks("#do-2").await?;
        student.sees_ticks(2, 5).await?;
        assert_eq!(stack.clock().advanced_ms(), 600_000);

        student.opens_control("/lessons/juggling").await?;
        student.sees(".notice", "There is no such lesson").await?;
        let old = "/lessons/replay?run=x&since=1";
        student.opens_control(old).await?;
        student.sees(".notice", "The stack was reset").await?;
        student.opens_control("/lessons/replay?since=many").await?;
        student
            .sees("#step-1.current", "choose Emmy Noether")
            .await?;
    });
}

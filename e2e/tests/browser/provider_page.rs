//! The sign-in page of the imitated providers, in a real browser.

use serde_json::json;
use thirtyfour::Key;

use crate::user::Flow;

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_cancel_is_in_sight_and_the_closed_page_is_short() {
    at_the_stack!(async |_stack, user| {
        user.has_a_window_of(390, 844).await?;
        for provider in ["google", "github"] {
            user.goes_to(Flow::Clean, provider).await?;
            let height = user.runs("return document.documentElement.scrollHeight;");
            let height = height.await?.as_u64().unwrap();
            assert!(height <= 1_500, "{provider}: {height}");
            // At the top of the page and at its end.
            for scroll in ["0", "document.body.scrollHeight"] {
                let script = format!(
                    "scrollTo(0, {scroll}); \
                     const cancel = document.querySelector('#cancel').getBoundingClientRect(); \
                     return cancel.top >= 0 && cancel.bottom <= innerHeight;"
                );
                assert_eq!(user.runs(&script).await?, true, "{provider}, {scroll}");
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_failures_are_found_by_words_and_the_keyboard_does_all() {
    at_the_stack!(async |_stack, user| {
        user.goes_to(Flow::Clean, "google").await?;
        user.opens_part("failures").await?;
        user.types("#failure-search", "signature HS256").await?;
        user.reads("1 failure found").await?;
        assert_eq!(user.counts_shown("[data-misbehave]").await?, 1);
        // From the search to the only button that is left.
        user.presses(Key::Tab).await?;
        assert!(user.focus().await?.starts_with("alg_hs256"));
        user.presses(Key::Enter).await?;
        user.sees_problem("invalid_provider_response").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_the_list_of_failures_is_simply_there() {
    at_the_stack!(async |_stack, user| {
        user.disables_scripts().await?;
        user.goes_to(Flow::Clean, "github").await?;
        user.opens_part("failures").await?;
        assert_eq!(user.counts_shown("#failure-search").await?, 0);
        user.chooses_misbehaviour("token_503").await?;
        user.sees_problem("provider_unavailable").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_likely_next_on_the_page_has_the_focus() {
    at_the_stack!(async |_stack, user| {
        user.goes_to(Flow::Clean, "github").await?;
        user.opens_part("someone-else").await?;
        // The browser's own check accepts leading zeros.
        user.types("[name=id]", "0042").await?;
        user.types("[name=username]", "octo").await?;
        user.clicks("#other").await?;
        user.reads("Use digits without leading zeros").await?;
        let script = "return [document.activeElement.id, document.activeElement.value];";
        assert_eq!(user.runs(script).await?, json!(["id", "0042"]));

        user.goes_to(Flow::Clean, "google").await?;
        user.types("#again", " ").await?;
        user.chooses("musa").await?;
        user.signs_out().await?;
        // The broker asks for the account picker, where the same user again is one key.
        user.goes_to(Flow::Clean, "google").await?;
        user.presses(Key::Enter).await?;
        user.sees_field("provider", "google").await?;
    });
}

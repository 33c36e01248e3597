//! The sign-in page of the imitated providers, in a real browser.

use serde_json::json;

use crate::user::Flow;

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_cancel_is_in_sight_and_the_closed_page_is_short() {
    at_the_demo!(async |_stack, user| {
        user.has_a_window_of(390, 844).await?;
        for provider in ["google", "github"] {
            user.opens_the_demo().await?;
            user.starts(Flow::Clean, provider).await?;
            user.is_at_the_mock_of(provider).await?;
            user.takes_picture(&format!("provider-page-{provider}"))
                .await?;
            let script = "const cancel = document.querySelector('#cancel').getBoundingClientRect(); \
                          return cancel.top >= 0 && cancel.bottom <= innerHeight;";
            assert_eq!(user.runs(script).await?, json!(true));
            let height = user
                .runs("return document.documentElement.scrollHeight;")
                .await?;
            assert!(height.as_u64().unwrap() <= 1_500, "{provider}: {height}");
            // It stays in sight at the end of the page.
            user.runs("scrollTo(0, document.body.scrollHeight);")
                .await?;
            assert_eq!(user.runs(script).await?, json!(true));
            user.cancels().await?;
            user.sees_problem("access_denied").await?;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_failures_are_found_by_words_and_the_keyboard_does_all() {
    at_the_demo!(async |_stack, user| {
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.opens_part("failures").await?;
        user.types("#failure-search", "signature HS256").await?;
        user.reads("1 failure found").await?;
        assert_eq!(user.counts_shown("[data-misbehave]").await?, 1);
        // From the search to the only button that is left.
        user.presses_tab().await?;
        assert!(user.focus().await?.starts_with("alg_hs256"));
        user.presses_enter().await?;
        user.sees_problem("invalid_provider_response").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_the_list_of_failures_is_simply_there() {
    at_the_demo!(async |_stack, user| {
        user.disables_scripts().await?;
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "github").await?;
        user.opens_part("failures").await?;
        let height = "return document.querySelector('#failure-search').offsetHeight;";
        assert_eq!(user.runs(height).await?, json!(0));
        user.chooses_misbehaviour("token_503").await?;
        user.sees_problem("provider_unavailable").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_account_keeps_its_values_and_has_the_focus_at_the_field() {
    at_the_demo!(async |_stack, user| {
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "github").await?;
        user.opens_part("someone-else").await?;
        // The browser's own check accepts leading zeros.
        user.fills("id", "0042").await?;
        user.fills("username", "octo").await?;
        user.enters_another_user().await?;
        user.reads("Use digits without leading zeros").await?;
        let script = "return [document.activeElement.id, document.activeElement.value, \
                      document.querySelector('[name=username]').value];";
        assert_eq!(user.runs(script).await?, json!(["id", "0042", "octo"]));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_user_again_is_one_key_and_a_page_that_is_over_leads_to_the_demo() {
    at_the_demo!(async |stack, user| {
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.types("#again", " ").await?;
        user.chooses("musa").await?;
        user.sees_sign_out().await?;
        user.signs_out().await?;
        user.starts(Flow::Clean, "google").await?;
        // The broker asks for the account picker.
        user.is_at_the_mock_of("google").await?;
        let page = user.address().await?;
        user.reads("last time").await?;
        user.presses_enter().await?;
        user.sees_sign_out().await?;

        user.opens(&page).await?;
        user.runs("document.querySelector('[name=request]').value = 'over';")
            .await?;
        user.cancels().await?;
        user.sees_heading("This sign-in is over").await?;
        user.follows("Back to the app").await?;
        user.is_at(&format!("{}/", stack.urls().consumer)).await?;
    });
}

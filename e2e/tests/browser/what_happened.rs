//! The panel *What just happened* on the demo's pages, from sign-in to diagram and source.

use std::time::Duration;

use mock_upstream::{Misbehaviour, Next};
use serde_json::Value;
use stack::Stack;
use stack::faults::{Fault, FaultInjection};
use thirtyfour::error::WebDriverResult;

use crate::user::{Flow, User};

/// The texts of the lines.
async fn lines(user: &User<'_>) -> WebDriverResult<Vec<String>> {
    let script = "return [...document.querySelectorAll('#what-happened li > :first-child')] \
                  .map(it => it.textContent);";
    let lines = user.runs(script).await?;
    let texts = lines.as_array().expect("a list").iter();
    Ok(texts.map(|it| it.as_str().unwrap().to_owned()).collect())
}

/// Checks the number of lines and a part of the last one.
async fn sees_lines(user: &User<'_>, count: usize, last: &str) -> WebDriverResult<()> {
    let lines = lines(user).await?;
    assert_eq!(lines.len(), count, "{lines:#?}");
    assert!(lines[count - 1].contains(last), "{lines:#?}");
    Ok(())
}

/// Follows the link to the diagram, or to the source, of a line.
async fn follows(user: &User<'_>, line: usize, to: &str) -> WebDriverResult<()> {
    let link = format!("#what-happened li:nth-child({line}) a[href*='/{to}/']");
    user.clicks(&link).await
}

/// The text of the element that the address names, if the window shows it.
async fn target(user: &User<'_>) -> WebDriverResult<String> {
    let script = "const target = document.querySelector(':target'); \
                  const box = target.getBoundingClientRect(); \
                  const isShown = box.top >= 0 && box.bottom <= innerHeight; \
                  return isShown ? target.textContent : 'not in the window';";
    let text = user.runs(script).await?;
    Ok(text.as_str().unwrap().to_owned())
}

async fn signs_in(user: &User<'_>, flow: Flow, who: &str) -> WebDriverResult<()> {
    user.opens_the_demo().await?;
    user.starts(flow, "google").await?;
    user.chooses(who).await
}

fn arm(stack: &Stack, operation: &str) {
    let operation = operation.parse().unwrap();
    let fault = FaultInjection::next(operation, Fault::LoseResponse);
    stack.faults().arm(fault);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_sign_in_leads_from_the_profile_to_its_diagram_and_its_source() {
    at_the_demo!(async |stack, user| {
        user.has_a_window_of(1280, 900).await?;
        user.opens_the_demo().await?;
        user.reads("Running on the stack").await?;
        user.takes_picture("what-happened-home").await?;
        signs_in(&user, Flow::Clean, "ada").await?;
        user.is_signed_in_as("Ada Lovelace").await?;
        sees_lines(&user, 5, "We signed you in").await?;
        user.takes_picture("what-happened-clean").await?;

        follows(&user, 4, "logins").await?;
        user.reads("POST /v1/login/result").await?;
        assert!(user.address().await?.starts_with(&stack.urls().control));
        let is_open = "return document.querySelector(':target').getAttribute('aria-current');";
        assert_eq!(user.runs(is_open).await?, Value::from("true"));
        user.takes_picture("what-happened-diagram").await?;

        user.opens(&format!("{}/profile", stack.urls().consumer))
            .await?;
        follows(&user, 4, "source").await?;
        user.reads("consumer-demo/src/clean.rs").await?;
        let line = target(&user).await?;
        assert!(line.contains(".read_result(&key"), "{line}");
        user.takes_picture("what-happened-source").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_sign_in_is_told_with_state_code_and_token() {
    at_the_demo!(async |_stack, user| {
        signs_in(&user, Flow::Legacy, "grace").await?;
        user.sees_field("provider", "google").await?;
        sees_lines(&user, 7, "We signed you in").await?;
        follows(&user, 5, "source").await?;
        let line = target(&user).await?;
        assert!(line.contains(".redeem(code"), "{line}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_and_a_forged_sign_in_are_told() {
    at_the_demo!(async |stack, user| {
        for (flow, count, end) in [
            (Flow::Clean, 4, "access_denied. You were not signed in."),
            (Flow::Legacy, 5, "You were not signed in."),
        ] {
            user.opens_the_demo().await?;
            user.starts(flow, "google").await?;
            user.cancels().await?;
            user.sees_problem("access_denied").await?;
            sees_lines(&user, count, end).await?;
            assert!(lines(&user).await?[2].starts_with("You cancelled at Google."));
        }
        let forged = Next::Misbehave(Misbehaviour::BadSignature);
        stack.upstream().google().queue(forged).unwrap();
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.sees_problem("invalid_provider_response").await?;
        sees_lines(&user, 4, "invalid_provider_response").await?;
        user.takes_picture("what-happened-forged").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_are_told() {
    at_the_demo!(async |stack, user| {
        arm(&stack, "POST /v1/login/result");
        signs_in(&user, Flow::Clean, "ada").await?;
        user.sees_problem("lost").await?;
        sees_lines(&user, 5, "here it had, so a second call").await?;
        user.takes_picture("what-happened-lost").await?;
        arm(&stack, "POST /v1/token");
        signs_in(&user, Flow::Legacy, "ada").await?;
        user.sees_problem("lost").await?;
        sees_lines(&user, 6, "here it had, so a second call").await?;
        arm(&stack, "POST /v1/login/session");
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.sees_problem("unreachable").await?;
        sees_lines(&user, 2, "Your sign-in has not started").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_and_a_forgotten_login_are_told() {
    at_the_demo!(async |stack, user| {
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.is_at_the_mock_of("google").await?;
        stack.clock().advance(Duration::from_secs(600));
        user.chooses("ada").await?;
        user.sees_problem("expired").await?;
        let told = lines(&user).await?;
        assert!(told[2].contains("after more than 600 seconds"), "{told:#?}");
        sees_lines(&user, 4, "So we did not call the broker.").await?;
        user.takes_picture("what-happened-expired").await?;

        stack.reset().await.unwrap();
        user.opens(&format!("{}/callback", stack.urls().consumer))
            .await?;
        user.reads("does not know this login any more").await?;
        user.clicks("#what-happened a[href='/']").await?;
        user.is_signed_out().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tab_tells_the_login_that_ended_in_it() {
    at_the_demo!(async |_stack, user| {
        let tabs = [user.tab().await?, user.opens_tab().await?];
        for tab in &tabs {
            user.switches_to(tab).await?;
            user.opens_the_demo().await?;
            user.starts(Flow::Clean, "google").await?;
            user.is_at_the_mock_of("google").await?;
        }
        user.switches_to(&tabs[0]).await?;
        user.chooses("ada").await?;
        user.is_signed_in_as("Ada Lovelace").await?;
        assert!(lines(&user).await?[3].contains("Ada Lovelace"));
        user.switches_to(&tabs[1]).await?;
        user.cancels().await?;
        user.sees_problem("access_denied").await?;
        let told = lines(&user).await?;
        // The first tab has asked for this result, too.
        assert!(told[2].contains("still pending"), "{told:#?}");
        assert!(told[4].contains("access_denied"), "{told:#?}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_panel_fits_a_phone_and_the_dark() {
    at_the_demo!(async |stack, user| {
        user.has_a_window_of(390, 844).await?;
        user.prefers_dark_colours().await?;
        signs_in(&user, Flow::Legacy, "musa").await?;
        user.sees_field("provider", "google").await?;
        user.sees_no_sideways_scroll("what-happened-phone").await?;
        user.opens_the_demo().await?;
        user.sees_no_sideways_scroll("what-happened-phone-home")
            .await?;
        user.has_a_window_of(320, 700).await?;
        user.opens(&format!("{}/profile", stack.urls().consumer))
            .await?;
        user.sees_no_sideways_scroll("what-happened-small").await?;
        follows(&user, 1, "source").await?;
        let line = target(&user).await?;
        assert!(line.contains("LoginState::from_random("), "{line}");
        user.sees_no_sideways_scroll("what-happened-small-source")
            .await?;
    });
}

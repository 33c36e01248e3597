//! The inspector in a real browser, while a user signs in in another one.

use mock_upstream::{Misbehaviour, Next};
use stack::faults::{Fault, FaultInjection};
use testkit::http::Http;
use thirtyfour::Key;

use crate::application::backend_at_the_demo;
use crate::inspector_page::InspectorPage;
use crate::user::{Flow, User};
use crate::{chromium, interactive_stack};

/// The inspector and a user, each with a browser of their own, at a fresh stack.
macro_rules! with_inspector {
    (async |$stack:ident, $inspector:ident, $user:ident| $body:block) => {{
        let $stack = interactive_stack().await;
        let inspectors_browser = chromium::open().await;
        let users_browser = chromium::open().await;
        let outcome = async {
            let $inspector = InspectorPage::at(&inspectors_browser, &$stack.urls().control).await?;
            let $user = User::at(&users_browser, &$stack);
            $body
            Ok::<(), thirtyfour::error::WebDriverError>(())
        };
        chromium::close_after(&inspectors_browser, outcome).await;
        let _ = users_browser.quit().await;
    }};
}

const OPENS: &str = "Consumer to Broker: POST /v1/login/session";
const READS: &str = "Consumer to Broker: POST /v1/login/result";

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_drawn_while_it_happens() {
    with_inspector!(async |_stack, inspector, user| {
        inspector.sees_sequence("No login yet").await?;
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.is_at_the_mock_of("google").await?;
        inspector
            .sees_sequence("Clean callback with Google")
            .await?;
        inspector.sees_arrow(OPENS, "plain").await?;
        inspector
            .sees_arrow("Browser to Google: the user signs in", "inferred")
            .await?;
        inspector
            .sees(".login .state", "waiting for the user")
            .await?;
        inspector.sees_no_arrow(READS).await?;
        inspector.sees_the_end_of_the_diagram().await?;
        inspector.takes_picture("inspector-1-under-way").await?;

        user.chooses("ada").await?;
        user.is_signed_in_as("Ada Lovelace").await?;
        inspector.sees_arrow(READS, "plain").await?;
        inspector.sees(".login .state", "result read").await?;
        inspector
            .sees("#news", "POST /v1/login/result: 200")
            .await?;
        inspector.sees_the_end_of_the_diagram().await?;
        inspector.has_not_reloaded().await?;
        inspector.has_screen(1280, 1640).await?;
        inspector.takes_picture("inspector-2-light").await?;
        inspector.prefers_dark_colours().await?;
        inspector.takes_picture("inspector-3-dark").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_on_an_arrow_shows_the_masked_exchange() {
    with_inspector!(async |_stack, inspector, user| {
        signs_in(&user, Flow::Clean, "github").await?;
        inspector.sees_arrow(READS, "plain").await?;
        inspector.clicks_arrow(OPENS).await?;
        inspector
            .sees("#exchange", "\"client_secret\": \"[masked")
            .await?;
        inspector.sees("#exchange", "200 OK").await?;
        inspector.sees("#exchange", "A login is pending.").await?;
        inspector.waits_for_focus("#exchange-title").await?;
        inspector.sees_the_chosen_arrow().await?;
        inspector.takes_picture("inspector-4-exchange").await?;
        inspector.has_screen(1920, 1080).await?;
        inspector.takes_picture("inspector-5-projector").await?;
        inspector.clicks("#close").await?;
        inspector.sees_no("#exchange").await?;
        inspector.has_not_reloaded().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_is_enough() {
    with_inspector!(async |stack, inspector, user| {
        signs_in(&user, Flow::Legacy, "google").await?;
        inspector
            .sees_arrow("Consumer to Broker: GET /v1/profile", "plain")
            .await?;
        inspector.tabs_to("button[value='60']").await?;
        inspector.presses(Key::Enter).await?;
        inspector.sees("#advanced", "1 minute ahead").await?;
        assert_eq!(stack.clock().advanced_ms(), 60_000);
        let arrow = "a.step[aria-label='Browser to Broker: GET /authorize']";
        inspector.tabs_to(arrow).await?;
        inspector.takes_picture("inspector-6-focus").await?;
        inspector.presses(Key::Enter).await?;
        inspector.waits_for_focus("#exchange-title").await?;
        inspector
            .sees("#exchange", "GET /authorize?client_id=demo")
            .await?;
        inspector.presses(Key::Escape).await?;
        inspector.sees_no("#exchange").await?;
        inspector.waits_for_focus(arrow).await?;
        inspector.has_not_reloaded().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_replay_is_red_and_shows_advice() {
    with_inspector!(async |stack, inspector, user| {
        let backend = backend_at_the_demo(&stack).await;
        let login = backend.start_login("google").await;
        user.opens(&login.authorization_url).await?;
        // The visit has no referrer.
        user.waits_and_continues().await?;
        user.chooses("ada").await?;
        // They are back at the demo, which does not know this login.
        user.sees_problem("no_session").await?;
        for status in [200, 400] {
            let result = backend.result(&login.session_key).await;
            assert_eq!(result.status, status);
        }
        inspector
            .sees("#sequence .text .refused", "What to do:")
            .await?;
        inspector
            .sees_arrow("Broker to Consumer: 400 Bad Request", "refused")
            .await?;
        inspector.sees(".login .problem", "✕ result.").await?;
        inspector.has_screen(1280, 1900).await?;
        inspector.takes_picture("inspector-7-replay").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_armed_by_a_button_and_the_lost_answer_breaks_off() {
    with_inspector!(async |stack, inspector, user| {
        inspector.selects("fault", "lose_response").await?;
        inspector.clicks("form[action='/do/strike'] button").await?;
        inspector
            .sees("#armed", "lose_response at the next POST /v1/login/result")
            .await?;
        assert_eq!(stack.faults().armed().len(), 1);
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "github").await?;
        user.chooses("ada").await?;
        inspector
            .sees_arrow(
                "Broker to Consumer: 200 succeeded, lost: Ada Lovelace (does not arrive)",
                "faulted",
            )
            .await?;
        inspector.sees("#armed", "No fault is armed.").await?;
        inspector
            .sees(
                "#sequence .text",
                "The broker had already stored: The outcome was read",
            )
            .await?;
        inspector.has_not_reloaded().await?;
        inspector.has_screen(1280, 1800).await?;
        inspector.takes_picture("inspector-8-lost-answer").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planned_misbehaviour_fails_the_next_login() {
    with_inspector!(async |stack, inspector, user| {
        inspector.types("misbehaviour", "bad_signature").await?;
        inspector
            .clicks("form[action='/do/misbehave'] button")
            .await?;
        inspector.sees("#queued", "Google: bad_signature").await?;
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.sees_problem("invalid_provider_response").await?;
        inspector
            .sees(".login .badge.refused", "✕ invalid_provider_response")
            .await?;
        inspector.sees("#queued", "Nothing is planned.").await?;
        inspector.has_screen(1280, 1800).await?;
        inspector.takes_picture("inspector-9-failed").await?;
        inspector.clicks("#ask-reset").await?;
        inspector.clicks("#reset").await?;
        inspector.sees_sequence("No login yet").await?;
        assert!(stack.event_log().events(0, None).is_empty());
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_the_diagram_is_a_list() {
    with_inspector!(async |stack, inspector, user| {
        inspector.has_screen(320, 800).await?;
        stack
            .upstream()
            .github()
            .queue(Next::Misbehave(Misbehaviour::Deny))
            .unwrap();
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "github").await?;
        user.sees_problem("access_denied").await?;
        inspector
            .sees("#sequence .text .refused", "upstream.denied")
            .await?;
        inspector.sees_no_sideways_scroll().await?;
        assert!(!inspector.is_shown(".canvas").await?);
        inspector.takes_picture("inspector-10-phone").await?;
        inspector.scrolls_to(".text li.refused").await?;
        inspector
            .takes_picture("inspector-11-phone-refusal")
            .await?;
        inspector.clicks(".text li a").await?;
        inspector.sees("#exchange", "[masked").await?;
        inspector.sees_no_sideways_scroll().await?;
        inspector
            .takes_picture("inspector-12-phone-exchange")
            .await?;
        inspector.opens("/calls").await?;
        inspector.sees_no_sideways_scroll().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_everything_but_the_news_works() {
    with_inspector!(async |stack, inspector, user| {
        signs_in(&user, Flow::Clean, "google").await?;
        inspector.disables_scripts().await?;
        inspector.opens("/").await?;
        inspector.clicks_arrow(OPENS).await?;
        inspector.sees("#exchange", "[masked").await?;
        inspector.clicks("button[value='600']").await?;
        inspector.sees("#advanced", "10 minutes ahead").await?;
        // It redirected to the page that it was on.
        inspector.sees("#exchange", "[masked").await?;
        assert_eq!(stack.clock().advanced_ms(), 600_000);
        let order = FaultInjection::next("POST /v1/token".parse().unwrap(), Fault::Html502);
        stack.faults().arm(order);
        inspector.opens("/").await?;
        inspector.sees("#armed", "html_502").await?;
        inspector.clicks("#clear").await?;
        inspector.sees("#armed", "No fault is armed.").await?;
    });
}

async fn signs_in(
    user: &User<'_>,
    flow: Flow,
    provider: &str,
) -> thirtyfour::error::WebDriverResult<()> {
    user.opens_the_demo().await?;
    user.starts(flow, provider).await?;
    user.chooses("ada").await?;
    user.is_signed_in_as("Ada Lovelace").await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_fit_their_cards_on_every_screen() {
    with_inspector!(async |_stack, inspector, _person| {
        for width in [360, 780, 1000, 1040, 1100, 1280, 1600] {
            inspector.has_screen(width, 900).await?;
            inspector.sees_every_tool_in_its_card().await?;
            inspector.sees_no_sideways_scroll().await?;
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn stack_and_sandboxes_are_a_click_apart() {
    with_inspector!(async |stack, inspector, _user| {
        inspector.sees_no(".picker").await?;
        let control = Http::at(&stack.urls().control);
        for name in ["checkout", "A long name of a test: signs_in_with_github"] {
            let body = serde_json::json!({ "name": name });
            let started = control.post("/api/sandboxes").json(&body).send().await;
            assert_eq!(started.status, 201);
        }
        inspector.opens("/").await?;
        inspector.clicks(".picker summary").await?;
        for width in [320, 700, 900, 1280] {
            inspector.has_screen(width, 844).await?;
            inspector.sees_no_sideways_scroll().await?;
            inspector
                .takes_picture(&format!("inspector-sandboxes-{width}"))
                .await?;
        }
        inspector.clicks(".picker a").await?;
        inspector.sees(".brand", "Sandbox s1 (checkout)").await?;
        inspector
            .sees(".picker summary", "The stack and 1 more")
            .await?;
        inspector.sees_sequence("No login yet").await?;
        inspector.clicks(".picker summary").await?;
        inspector.clicks(".picker a").await?;
        inspector.sees(".brand", "The sign-in stack").await?;
        inspector.sees(".picker summary", "2 sandboxes").await?;
    });
}

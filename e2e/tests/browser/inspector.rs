//! The pages of the control address in a real browser: a teacher watches, a person
//! signs in.

use mock_upstream::{Misbehaviour, Next};
use stack::faults::{Fault, FaultInjection};
use thirtyfour::Key;

use crate::app::App;
use crate::person::{Flow, Person};
use crate::teacher::Teacher;
use crate::{chromium, interactive_stack};

/// A teacher and a person, each with a browser of their own, at a fresh stack.
macro_rules! in_class {
    (async |$stack:ident, $teacher:ident, $person:ident| $body:block) => {{
        let $stack = interactive_stack().await;
        let screen = chromium::open().await;
        let desk = chromium::open().await;
        let outcome = async {
            let $teacher = Teacher::at(&screen, &$stack.urls().control).await?;
            let $person = Person::at(&desk, &$stack);
            $body
            Ok::<(), thirtyfour::error::WebDriverError>(())
        };
        chromium::close_after(&screen, outcome).await;
        let _ = desk.quit().await;
    }};
}

const OPENS: &str = "Consumer to Broker: POST /v1/login/session";
const READS: &str = "Consumer to Broker: POST /v1/login/result";

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_drawn_while_it_happens() {
    in_class!(async |_stack, teacher, person| {
        teacher.sees_story("No login yet").await?;
        person.goes_home().await?;
        person.starts(Flow::Clean, "google").await?;
        person.is_at_the_imitation_of("google").await?;
        teacher.sees_story("Clean callback with Google").await?;
        teacher.sees_arrow(OPENS, "plain").await?;
        teacher
            .sees_arrow("Browser to Google: the user signs in", "inferred")
            .await?;
        teacher.sees(".login .state", "waits for the user").await?;
        teacher.sees_no_arrow(READS).await?;
        teacher.sees_the_end_of_the_diagram().await?;
        teacher.takes_picture("inspector-1-under-way").await?;

        person.chooses("ada").await?;
        person.is_signed_in_as("Ada Lovelace").await?;
        teacher.sees_arrow(READS, "plain").await?;
        teacher.sees(".login .state", "its result was read").await?;
        teacher.sees("#news", "POST /v1/login/result: 200").await?;
        teacher.sees_the_end_of_the_diagram().await?;
        teacher.has_not_reloaded().await?;
        teacher.has_screen(1280, 1640).await?;
        teacher.takes_picture("inspector-2-light").await?;
        teacher.likes_it_dark().await?;
        teacher.takes_picture("inspector-3-dark").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_on_an_arrow_shows_the_masked_exchange() {
    in_class!(async |_stack, teacher, person| {
        signs_in(&person, Flow::Clean, "github").await?;
        teacher.sees_arrow(READS, "plain").await?;
        teacher.clicks_arrow(OPENS).await?;
        teacher
            .sees("#exchange", "\"client_secret\": \"[masked")
            .await?;
        teacher.sees("#exchange", "200 OK").await?;
        teacher.sees("#exchange", "A login is pending.").await?;
        teacher.is_led_to("#exchange-title").await?;
        teacher.sees_the_chosen_arrow().await?;
        teacher.takes_picture("inspector-4-exchange").await?;
        teacher.has_screen(1920, 1080).await?;
        teacher.takes_picture("inspector-5-projector").await?;
        teacher.clicks("#close").await?;
        teacher.sees_no("#exchange").await?;
        teacher.has_not_reloaded().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_is_enough() {
    in_class!(async |stack, teacher, person| {
        signs_in(&person, Flow::Legacy, "google").await?;
        teacher
            .sees_arrow("Consumer to Broker: GET /v1/profile", "plain")
            .await?;
        teacher.tabs_to("button[value='60']").await?;
        teacher.presses(Key::Enter).await?;
        teacher.sees("#advanced", "1 minute ahead").await?;
        assert_eq!(stack.clock().advanced_ms(), 60_000);
        let arrow = "a.step[aria-label='Browser to Broker: GET /authorize']";
        teacher.tabs_to(arrow).await?;
        teacher.takes_picture("inspector-6-focus").await?;
        teacher.presses(Key::Enter).await?;
        teacher.is_led_to("#exchange-title").await?;
        teacher
            .sees("#exchange", "GET /authorize?client_id=demo")
            .await?;
        teacher.presses(Key::Escape).await?;
        teacher.sees_no("#exchange").await?;
        teacher.is_led_to(arrow).await?;
        teacher.has_not_reloaded().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_replay_is_red_and_says_what_to_do() {
    in_class!(async |stack, teacher, person| {
        let app = App::at(&stack);
        let url = app.starts_login().await;
        person.opens(&url).await?;
        // Nobody saw where they come from.
        person.waits_and_continues().await?;
        person.chooses("ada").await?;
        // They have come home: the demo knows nothing of this login.
        person.meets_problem("no_session").await?;
        assert_eq!(app.reads_result().await, 200);
        assert_eq!(app.reads_result().await, 400);
        teacher
            .sees("#sequence .text .refused", "What to do:")
            .await?;
        teacher
            .sees_arrow("Broker to Consumer: 400 Bad Request", "refused")
            .await?;
        teacher.sees(".login .problem", "✕ result.").await?;
        teacher.has_screen(1280, 1900).await?;
        teacher.takes_picture("inspector-7-replay").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_armed_by_a_button_and_the_lost_answer_breaks_off() {
    in_class!(async |stack, teacher, person| {
        teacher.selects("fault", "lose_response").await?;
        teacher.clicks("form[action='/do/strike'] button").await?;
        teacher
            .sees("#armed", "lose_response at the next POST /v1/login/result")
            .await?;
        assert_eq!(stack.faults().armed().len(), 1);
        person.goes_home().await?;
        person.starts(Flow::Clean, "github").await?;
        person.chooses("ada").await?;
        teacher
            .sees_arrow(
                "Broker to Consumer: 200 OK, lost (does not arrive)",
                "faulted",
            )
            .await?;
        teacher.sees("#armed", "No fault is armed.").await?;
        teacher
            .sees(
                "#sequence .text",
                "Committed all the same: The outcome was read",
            )
            .await?;
        teacher.has_not_reloaded().await?;
        teacher.has_screen(1280, 1800).await?;
        teacher.takes_picture("inspector-8-lost-answer").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planned_misbehaviour_fails_the_next_login() {
    in_class!(async |stack, teacher, person| {
        teacher.selects("what", "google bad_signature").await?;
        teacher
            .clicks("form[action='/do/misbehave'] button")
            .await?;
        teacher.sees("#queued", "Google: bad_signature").await?;
        person.goes_home().await?;
        person.starts(Flow::Clean, "google").await?;
        person.meets_problem("invalid_provider_response").await?;
        teacher
            .sees(".login .problem", "✕ upstream.invalid")
            .await?;
        teacher.sees("#queued", "Nothing is planned.").await?;
        teacher.has_screen(1280, 1800).await?;
        teacher.takes_picture("inspector-9-failed").await?;
        teacher.clicks("#reset").await?;
        teacher.sees_story("No login yet").await?;
        assert!(stack.event_log().events(0, None).is_empty());
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_the_story_is_a_list() {
    in_class!(async |stack, teacher, person| {
        teacher.has_screen(360, 800).await?;
        stack
            .upstream()
            .github()
            .queue(Next::Misbehave(Misbehaviour::Deny))
            .unwrap();
        person.goes_home().await?;
        person.starts(Flow::Clean, "github").await?;
        person.meets_problem("access_denied").await?;
        teacher
            .sees("#sequence .text .refused", "upstream.denied")
            .await?;
        teacher.sees_no_sideways_scroll().await?;
        assert!(!teacher.is_shown(".canvas").await?);
        teacher.takes_picture("inspector-10-phone").await?;
        teacher.scrolls_to(".text li.refused").await?;
        teacher.takes_picture("inspector-11-phone-refusal").await?;
        teacher.clicks(".text li a").await?;
        teacher.sees("#exchange", "[masked").await?;
        teacher.sees_no_sideways_scroll().await?;
        teacher.takes_picture("inspector-12-phone-exchange").await?;
        teacher.opens("/calls").await?;
        teacher.sees_no_sideways_scroll().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_everything_but_the_news_works() {
    in_class!(async |stack, teacher, person| {
        signs_in(&person, Flow::Clean, "google").await?;
        teacher.runs_no_scripts().await?;
        teacher.opens("/").await?;
        teacher.clicks_arrow(OPENS).await?;
        teacher.sees("#exchange", "[masked").await?;
        teacher.clicks("button[value='600']").await?;
        teacher.sees("#advanced", "10 minutes ahead").await?;
        // It led back to where it was.
        teacher.sees("#exchange", "[masked").await?;
        assert_eq!(stack.clock().advanced_ms(), 600_000);
        let order = FaultInjection::next("POST /v1/token".parse().unwrap(), Fault::Html502);
        stack.faults().arm(order);
        teacher.opens("/").await?;
        teacher.sees("#armed", "html_502").await?;
        teacher.clicks("#clear").await?;
        teacher.sees("#armed", "No fault is armed.").await?;
    });
}

async fn signs_in(
    person: &Person<'_>,
    flow: Flow,
    provider: &str,
) -> thirtyfour::error::WebDriverResult<()> {
    person.goes_home().await?;
    person.starts(flow, provider).await?;
    person.chooses("ada").await?;
    person.is_signed_in_as("Ada Lovelace").await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_fit_their_cards_on_every_screen() {
    in_class!(async |_stack, teacher, _person| {
        for width in [360, 780, 1000, 1040, 1100, 1280, 1600] {
            teacher.has_screen(width, 900).await?;
            teacher.sees_every_tool_in_its_card().await?;
            teacher.sees_no_sideways_scroll().await?;
        }
    });
}

//! The inspector and the presenter's view in a real browser: what their scripts do, and
//! what works without them.

use stack::faults::{Fault, FaultInjection};
use testkit::backend::Backend;
use thirtyfour::error::WebDriverResult;
use thirtyfour::extensions::query::ElementQueryable as _;
use thirtyfour::{By, Key};

use crate::user::{Flow, User};

/// The inspector and a user, each with a browser of their own, at a fresh stack.
macro_rules! with_inspector {
    (async |$stack:ident, $inspector:ident, $user:ident| $body:block) => {
        at_the_stack!(async |$stack, $user| {
            let session = $crate::open().await;
            let $inspector = User::at(&session, &$stack);
            let outcome = async {
                $inspector.opens_the_inspector().await?;
                $body
                Ok::<(), thirtyfour::error::WebDriverError>(())
            };
            $crate::close_after(&session, outcome).await;
        })
    };
}

const OPENS: &str = "Your app to Broker: POST /v1/login/session";
pub(crate) const READS: &str = "Your app to Broker: POST /v1/login/result";

/// The most presses of Tab before the search for an element fails.
const MOST_TABS: usize = 60;

/// In the inspector.
impl User<'_> {
    pub(crate) async fn opens_the_inspector(&self) -> WebDriverResult<()> {
        self.prefers("light").await?;
        self.opens_control("/").await?;
        self.runs("window.isTheSamePage = true;").await.map(drop)
    }

    async fn has_not_reloaded(&self) -> WebDriverResult<()> {
        let same = self.runs("return window.isTheSamePage === true;").await?;
        assert_eq!(same, true, "the page was loaded anew");
        Ok(())
    }

    /// Waits until an arrow has the label `label` and this style.
    pub(crate) async fn sees_arrow(&self, label: &str, style: &str) -> WebDriverResult<()> {
        let arrow = format!(".step.{style}[aria-label='{label}']");
        self.finds(&arrow).await.map(drop)
    }

    pub(crate) async fn clicks_arrow(&self, label: &str) -> WebDriverResult<()> {
        self.clicks(&format!("a.step[aria-label='{label}']")).await
    }

    /// Presses Tab until `selector` has the focus.
    async fn tabs_to(&self, selector: &str) -> WebDriverResult<()> {
        for _ in 0..MOST_TABS {
            let focused = By::Css(format!("{selector}:focus"));
            if self.browser.query(focused).nowait().exists().await? {
                return Ok(());
            }
            self.presses(Key::Tab).await?;
        }
        panic!("{selector} is not reached by Tab");
    }

    /// Asserts that the presenter's view shows four names, the last arrow below them, and the
    /// whole sentence above the links.
    async fn sees_heads_arrow_and_sentence(&self) -> WebDriverResult<()> {
        let seen = self.runs(include_str!("scripts/heads_arrow_and_sentence.js"));
        let seen = seen.await?;
        let step = self.finds("nav").await?.text().await?;
        assert_eq!(seen, true, "{step}");
        Ok(())
    }

    /// Asserts that `selector` ends above `limit`, a length in the page's script.
    async fn sees_whole(&self, selector: &str, limit: &str) -> WebDriverResult<()> {
        let script = format!(
            "const seen = document.querySelector('{selector}').getBoundingClientRect(); \
             return seen.top >= 0 && seen.bottom <= {limit};"
        );
        assert_eq!(self.runs(&script).await?, true, "{selector}");
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_drawn_while_it_happens() {
    with_inspector!(async |stack, inspector, user| {
        inspector.sees_heading("No login yet").await?;
        user.goes_to(Flow::Clean, "google").await?;
        inspector.sees_heading("Clean callback with Google").await?;
        inspector.sees_arrow(OPENS, "plain").await?;
        let choice = "Browser to Google: the user signs in";
        inspector.sees_arrow(choice, "inferred").await?;
        inspector.sees(".login .state", "waiting, ").await?;
        let reads = format!(".step[aria-label='{READS}']");
        assert_eq!(inspector.counts_shown(&reads).await?, 0);
        let end = ".diagram > :last-child";
        inspector.sees_whole(end, "innerHeight").await?;

        user.chooses("ada").await?;
        inspector.sees_arrow(READS, "plain").await?;
        inspector.sees(".login .name", "Ada Lovelace").await?;
        inspector.sees("#verdict .succeeded", "✓ Signed in").await?;
        inspector
            .sees("#news", "POST /v1/login/result: 200")
            .await?;
        inspector.sees_whole(end, "innerHeight").await?;

        inspector.clicks("#clock-tool").await?;
        inspector.clicks("#ask-reset").await?;
        inspector.clicks("#reset").await?;
        inspector.sees_heading("No login yet").await?;
        assert!(stack.event_log().events(0, None).is_empty());
        inspector.has_not_reloaded().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_click_on_an_arrow_shows_the_masked_exchange_beside_it() {
    with_inspector!(async |_stack, inspector, user| {
        user.signs_in(Flow::Clean, "github").await?;
        inspector.clicks_arrow(OPENS).await?;
        let secret = "\"client_secret\": \"[masked";
        inspector.sees("#exchange", secret).await?;
        inspector.finds("#exchange-title:focus").await?;
        // The exchange does not cover the arrow that it is of.
        let uncovered = "(it => it.left >= seen.right ? innerHeight : it.top)\
                         (document.querySelector('#exchange').getBoundingClientRect())";
        inspector
            .sees_whole(".step[aria-current]", uncovered)
            .await?;
        let fill = "return getComputedStyle(document.querySelector('#copy-curl')).backgroundColor";
        let transparent = "rgba(0, 0, 0, 0)";
        assert_eq!(inspector.runs(fill).await?, transparent, "a second button");
        inspector.takes_picture("inspector-exchange").await?;
        inspector.clicks("#close").await?;
        inspector.sees_no("#exchange").await?;
        inspector.has_not_reloaded().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_is_enough() {
    with_inspector!(async |stack, inspector, user| {
        user.signs_in(Flow::Legacy, "google").await?;
        let last = "Your app to Broker: GET /v1/profile";
        inspector.sees_arrow(last, "plain").await?;
        inspector.tabs_to("#clock-tool").await?;
        inspector.presses(Key::Enter).await?;
        inspector.tabs_to("button[value='60']").await?;
        inspector.presses(Key::Enter).await?;
        inspector.sees("#advanced", "1 minute ahead").await?;
        assert_eq!(stack.clock().advanced_ms(), 60_000);
        inspector.presses(Key::Escape).await?;
        inspector.finds("#clock-tool:focus").await?;
        let arrow = "a.step[aria-label='Browser to Broker: GET /authorize']";
        inspector.tabs_to(arrow).await?;
        inspector.presses(Key::Enter).await?;
        inspector.finds("#exchange-title:focus").await?;
        let request = "GET /authorize?client_id=demo";
        inspector.sees("#exchange", request).await?;
        inspector.presses(Key::Escape).await?;
        inspector.sees_no("#exchange").await?;
        inspector.finds(&format!("{arrow}:focus")).await?;
        inspector.has_not_reloaded().await?;
    });
}

/// The number of arrows of the diagram that are whole in the window, and the size of the smallest
/// letters, in pixels.
const MEASURES: &str = include_str!("scripts/measures.js");

#[tokio::test(flavor = "multi_thread")]
async fn an_open_call_leaves_room_for_ten_legible_arrows_and_the_list_shows_its_login() {
    with_inspector!(async |stack, inspector, user| {
        inspector.has_a_window_of(1280, 800).await?;
        user.signs_in(Flow::Clean, "google").await?;
        let login = stack.event_log().logins(1).remove(0);
        let demo = stack.projects().list().remove(0);
        let (id, secret) = (demo.client_id.as_str(), demo.client_secret.expose());
        let callback = demo.redirect_uris[0].as_str();
        let backend = Backend::new(&stack.urls().broker, id, secret, callback);
        for _ in 0..50 {
            backend.start_login("google").await;
        }
        inspector.opens_control(&format!("/logins/{login}")).await?;
        inspector
            .sees_whole(".login[aria-current]", "innerHeight")
            .await?;
        inspector.clicks_arrow(OPENS).await?;
        inspector.finds("#exchange").await?;
        inspector
            .sees_whole(".login[aria-current]", "innerHeight")
            .await?;
        let measured = inspector.runs(MEASURES).await?;
        let [arrows, letters] = [0, 1].map(|index| measured[index].as_f64().unwrap());
        assert!(arrows >= 10.0 && letters >= 13.0, "{measured}");
    });
}

/// Resets the stack past the page's own script, and returns after how many milliseconds the page
/// shows it.
const RESETS: &str = include_str!("scripts/resets.js");

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_by_another_program_is_seen_at_once() {
    with_inspector!(async |_stack, inspector, user| {
        user.signs_in(Flow::Clean, "google").await?;
        inspector.sees_heading("Clean callback with Google").await?;
        // On a quiet machine it takes a fifth of that.
        let shown_ms = inspector.runs(RESETS).await?.as_f64().unwrap();
        assert!(shown_ms < 1000.0, "{shown_ms}");
        inspector.has_not_reloaded().await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_the_diagram_is_a_list() {
    at_the_stack!(async |_stack, user| {
        user.has_a_window_of(320, 800).await?;
        user.goes_to(Flow::Clean, "github").await?;
        user.clicks("#cancel").await?;
        user.sees_problem("access_denied").await?;
        user.opens_control("/").await?;
        user.sees("#sequence .text .refused", "upstream.denied")
            .await?;
        assert_eq!(user.counts_shown(".canvas").await?, 0);
        user.sees_no_sideways_scroll("inspector-phone").await?;
        user.clicks(".text li a").await?;
        user.sees("#exchange", "[masked").await?;
        user.sees_no_sideways_scroll("inspector-phone-exchange")
            .await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_everything_but_the_news_works() {
    at_the_stack!(async |stack, inspector| {
        inspector.signs_in(Flow::Clean, "google").await?;
        inspector.disables_scripts().await?;
        inspector.opens_control("/").await?;
        inspector.clicks_arrow(OPENS).await?;
        inspector.sees("#exchange", "[masked").await?;
        inspector.clicks("#clock-tool").await?;
        inspector.clicks("button[value='600']").await?;
        inspector.sees("#clock", "+10 minutes").await?;
        // It redirected to the page that it was on.
        inspector.sees("#exchange", "[masked").await?;
        assert_eq!(stack.clock().advanced_ms(), 600_000);
        let order = FaultInjection::next("POST /v1/token".parse().unwrap(), Fault::Html502);
        stack.faults().arm(order);
        inspector.opens_control("/").await?;
        inspector.sees("#network-short", "html_502").await?;
        inspector.clicks("#network-tool").await?;
        inspector.clicks("#clear").await?;
        inspector.sees("#network-short", "normal").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_presented_step_by_step_by_the_keyboard() {
    at_the_stack!(async |stack, user| {
        user.signs_in(Flow::Clean, "google").await?;
        let login = stack.event_log().logins(1).remove(0);
        let page = format!("/present/{login}");
        user.has_a_window_of(1280, 720).await?;
        user.opens_control("/calls").await?;
        user.opens_control(&page).await?;
        user.runs("window.isTheSamePage = true;").await?;
        user.sees("nav", "Step 1 of").await?;
        user.sees(".large", "presses the sign-in button").await?;
        assert_eq!(user.counts_shown(".stage .step").await?, 1);
        for (step, sentence) in [(2, "registers a login"), (3, "A login is pending.")] {
            user.presses(Key::Right).await?;
            user.sees("nav", &format!("Step {step} of")).await?;
            user.sees(".large", sentence).await?;
            assert_eq!(user.counts_shown(".stage .step").await?, 2);
        }
        user.presses(Key::End).await?;
        user.sees(".large", "the only time").await?;
        user.sees_no("#after").await?;
        for _ in 0..2 {
            user.presses(Key::Home).await?;
            user.sees("nav", "Step 1 of").await?;
        }
        let mut steps = 1;
        while user.counts_shown("#after").await? == 1 {
            user.sees_heads_arrow_and_sentence().await?;
            user.presses(Key::Right).await?;
            steps += 1;
            user.sees("nav", &format!("Step {steps} of")).await?;
        }
        assert!(steps > 21, "{steps}");
        user.sees_heads_arrow_and_sentence().await?;
        user.sees(".large", "the only time").await?;
        user.has_not_reloaded().await?;
        // The steps are one page of the history.
        user.browser.back().await?;
        user.sees_heading("Addresses and calls").await?;
        user.opens_control(&page).await?;
        user.presses(Key::Escape).await?;
        user.sees_heading("Clean callback with Google").await?;

        user.opens_control(&format!("{page}?arrow=99")).await?;
        user.sees(".problem", "no such step").await?;
        user.sees(".large", "the only time").await?;
        user.opens_control(&format!("{page}?arrow=none")).await?;
        user.disables_scripts().await?;
        for (link, step) in [("#after", "Step 2 of"), ("#before", "Step 1 of")] {
            user.clicks(link).await?;
            user.sees("nav", step).await?;
        }
        stack.reset().await.unwrap();
        user.opens_control(&page).await?;
        user.sees_heading("This login is unknown").await?;
        user.sees(".problem", "removed by a reset").await?;
        user.clicks("#leave").await?;
        user.sees_heading("No login yet").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_at_the_last_step_follows_the_login_and_elsewhere_new_steps_are_announced() {
    with_inspector!(async |stack, reader, user| {
        user.goes_to(Flow::Clean, "google").await?;
        let login = stack.event_log().logins(1).remove(0);
        reader.opens_control(&format!("/present/{login}")).await?;
        reader.presses(Key::End).await?;
        reader.sees(".large", "signs in at the provider").await?;
        user.chooses("ada").await?;
        reader
            .sees(".large", "sends the browser back to the broker")
            .await?;
        // A reader who moves follows no longer.
        reader.presses(Key::Home).await?;
        reader.sees("#new", "new →").await?;
        reader.sees("nav", "Step 1 of").await?;
        reader.clicks("#new").await?;
        reader.presses(Key::End).await?;
        reader.sees(".large", "the only time").await?;
        assert_eq!(reader.counts_shown("#new").await?, 0);
    });
}

//! The stack in a real headless Chromium, for what only a browser can tell. Pictures of the
//! pages go to `target/screenshots/`.
//!
//! Needs Chromium and ChromeDriver; `just test` installs them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// One user with a browser of their own, at a fresh stack.
macro_rules! at_the_stack {
    (async |$stack:ident, $user:ident| $body:block) => {
        at_the_stack!(of $crate::interactive(), async |$stack, $user| $body)
    };
    (of $settings:expr, async |$stack:ident, $user:ident| $body:block) => {{
        let $stack = $crate::start($settings).await;
        let session = $crate::chromium::open().await;
        let $user = $crate::user::User::at(&session, &$stack);
        let outcome = async {
            $body
            Ok::<(), thirtyfour::error::WebDriverError>(())
        };
        $crate::chromium::close_after(&session, outcome).await;
    }};
}

mod application;
mod chromium;
mod site;
mod user;

mod accessibility;
mod across_sites;
mod inspector;
mod lessons;
mod other_port;
mod pictures;
mod planted;
mod provider_page;
mod relay;
mod screens;

use conformance::browser::{BrowserDriver, WebDriver};
use conformance::control::StackControl;
use conformance::{Expiry, Requirement, TestPlan};
use stack::faults::{Fault, FaultInjection};
use stack::{Stack, StackSettings};
use user::Flow;

/// The settings of a stack whose providers show a page on which the user is chosen.
fn interactive() -> StackSettings {
    StackSettings {
        automatic: false,
        ..StackSettings::for_tests()
    }
}

async fn start(settings: StackSettings) -> Stack {
    testkit::leak_check::watch_log();
    Stack::start(settings).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_resends_a_lost_callback_and_the_user_gets_back_to_the_consumer() {
    at_the_stack!(async |stack, user| {
        let callback = "GET /callback/{provider}";
        let lost = FaultInjection::next(callback.parse().unwrap(), Fault::LoseResponse);
        stack.faults().arm(lost);
        user.signs_in(Flow::Clean, "google").await?;
        let events = stack.event_log().events(0, None);
        let resend = events.iter().find(|event| event.resend).unwrap();
        assert_eq!(resend.operation, callback);
        assert!(resend.why.unwrap().contains("browsers"));
        let asked = stack.upstream().google().journal();
        let exchanges = asked.iter().filter(|call| call.path == "/token").count();
        assert_eq!(exchanges, 1, "the provider's code is exchanged once");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_page_is_drawn_and_loads_nothing_from_elsewhere() {
    at_the_stack!(async |stack, user| {
        let control = &stack.urls().control;
        user.opens_control("/contract").await?;
        user.reads("Start a login").await?;
        user.reads("is marked as this kit").await?;
        let operation = "/contract#tag/legacy-flow/POST/v1/revoke";
        user.opens_control(operation).await?;
        user.reads("This kit").await?;
        let script = "return performance.getEntriesByType('resource').map(it => it.name);";
        let loaded = user.runs(script).await?;
        let loaded = loaded.as_array().unwrap();
        assert!(loaded.len() > 2, "{loaded:?}");
        for url in loaded.iter().map(|url| url.as_str().unwrap()) {
            let is_ours = url.starts_with(&format!("{control}/")) || url.starts_with("data:");
            assert!(is_ours, "{url}");
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conformance_run_passes_with_a_real_browser() {
    let stack = start(interactive()).await;
    let control = StackControl::at(&stack.urls().control).unwrap();
    let [project, other] = control.projects().await.unwrap();
    let driver = chromium::driver().await;
    let capabilities = serde_json::to_value(driver.capabilities().unwrap()).unwrap();
    let plan = TestPlan {
        base_url: stack.urls().broker.clone(),
        project,
        other: Some(other),
        browser: BrowserDriver::WebDriver(WebDriver::at(driver.url(), capabilities)),
        control: Some(control),
        expiry: Expiry::ByControl,
    };
    let report = conformance::run(&plan, &mut |_| {}).await.unwrap();
    let all = ("PASS", Requirement::ALL.len());
    assert_eq!(report.counts()[0], all, "{}", report.table());
}

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
        let session = $crate::open().await;
        let $user = $crate::user::User::at(&session, &$stack);
        let outcome = async {
            $body
            Ok::<(), thirtyfour::error::WebDriverError>(())
        };
        $crate::close_after(&session, outcome).await;
    }};
}

mod application;
mod user;

mod across_sites;
mod attacks;
mod inspector;
mod lessons;
mod pages;
mod pictures;
mod planted;
mod relay;

use std::panic::AssertUnwindSafe;

use agent::control::Control;
use conformance::browser::{BrowserDriver, WebDriver};
use conformance::{Expiry, Requirement, TestPlan, TestProject};
use examiner::{ChromeDriver, ChromiumSettings};
use rocket::futures::FutureExt as _;
use stack::faults::{Fault, FaultInjection};
use stack::{Stack, StackSettings};
use thirtyfour::error::WebDriverResult;
use thirtyfour::{ChromeCapabilities, ChromiumLikeCapabilities as _, WebDriver as Session};
use tokio::sync::OnceCell;
use user::Flow;

/// The settings of a stack whose providers show a page on which the user is chosen.
fn interactive() -> StackSettings {
    StackSettings {
        automatic: false,
        ..StackSettings::for_tests()
    }
}

async fn start(settings: StackSettings) -> Stack {
    testkit::leak_check::log::listen();
    Stack::start(settings).await.unwrap()
}

/// Chromium takes the certificates of a stack over TLS unseen (`stack`'s suite `trust` tests
/// the trust in them), and finds on this machine what the tests call a shop.
const ARGUMENTS: [&str; 2] = [
    "--ignore-certificate-errors",
    "--host-resolver-rules=MAP *.shop.test 127.0.0.1",
];

/// The driver of the whole run; it ends with this process.
async fn driver() -> &'static ChromeDriver {
    static DRIVER: OnceCell<ChromeDriver> = OnceCell::const_new();
    let start = || async {
        let started = ChromeDriver::start(&ChromiumSettings::Hidden).await;
        started.unwrap_or_else(|error| panic!("`just test` installs Chromium: {error}"))
    };
    DRIVER.get_or_init(start).await
}

/// Opens a browser with a profile of its own.
async fn open() -> Session {
    open_with(&[]).await
}

/// Opens a browser that is started with these arguments, too.
async fn open_with(more: &[&str]) -> Session {
    open_as(more, |_| Ok(())).await
}

/// The same, with other capabilities.
async fn open_as(
    more: &[&str],
    change: impl FnOnce(&mut ChromeCapabilities) -> WebDriverResult<()>,
) -> Session {
    let driver = driver().await;
    let mut chromium = driver.capabilities().unwrap();
    for argument in ARGUMENTS.iter().chain(more) {
        chromium.add_arg(argument).unwrap();
    }
    change(&mut chromium).unwrap();
    Session::new(driver.url(), chromium).await.unwrap()
}

/// Opens a browser that hides a page behind the tab in front of it, as the headless shell
/// never does.
async fn open_with_tabs() -> Session {
    let driver = driver().await;
    let mut chromium = driver.capabilities().unwrap();
    chromium.unset_binary();
    Session::new(driver.url(), chromium).await.unwrap()
}

/// Awaits what the user does, and closes the browser whatever came of it.
async fn close_after(session: &Session, steps: impl Future<Output = WebDriverResult<()>>) {
    let result = AssertUnwindSafe(steps).catch_unwind().await;
    if !matches!(result, Ok(Ok(()))) {
        let failed = user::picture_path("failed");
        let _ = session.screenshot(&failed).await;
    }
    let _ = session.clone().quit().await;
    match result {
        Ok(outcome) => outcome.unwrap(),
        Err(panic) => std::panic::resume_unwind(panic),
    }
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
    let control = Control::at(&stack.urls().control).unwrap();
    let [project, other] = TestProject::at(&control).await.unwrap();
    let driver = driver().await;
    let capabilities = serde_json::to_value(driver.capabilities().unwrap()).unwrap();
    let plan = TestPlan {
        base_url: stack.urls().broker.clone(),
        project,
        other: Some(other),
        browser: BrowserDriver::WebDriver(WebDriver::at(driver.url(), capabilities)),
        control: Some(control),
        expiry: Expiry::ByControl,
        races: None,
    };
    let report = conformance::run(&plan, &mut |_| {}).await.unwrap();
    let all = ("PASS", Requirement::ALL.len());
    assert_eq!(report.counts()[0], all, "{}", report.table());
}

//! The relayed sign-in: an attacker starts a login at the demo, and the victim's browser
//! finishes it. In the clean flow it needs the victim's click on the broker's
//! confirmation page, and the audit log records its provenance. In the legacy flow it
//! fails.
//!
//! The tests document the remaining risk; they do not approve of it.

use reqwest::Method;

use crate::login::{Flow, GOOGLE};
use crate::logs;
use crate::test_stack::TestStack;
use testkit::browser::{Browser, UNSERVED};
use testkit::http::{Http, PENDING, Response};

/// The page with the attacker's link.
const LURE: &str = "https://evil.example/free-tickets";

/// An attacker with a login of the demo under way, and the address that they send
/// around.
struct Attacker {
    browser: Browser,
    bait: String,
}

impl Attacker {
    async fn at_the_demo(stack: &TestStack, flow: Flow) -> Self {
        let start = match flow {
            Flow::Clean => "/login/google",
            Flow::Legacy => "/legacy/login/google",
        };
        let browser = Browser::new();
        let bait = browser
            .press_until(&stack.demo("/"), &stack.demo(start), stack.broker())
            .await
            .url;
        assert!(bait.starts_with(stack.broker()), "{bait}");
        Self { browser, bait }
    }

    /// Claims what the victim's sign-in made of the attacker's login.
    async fn follows_the_callback(&self, stack: &TestStack, flow: Flow) -> Response {
        let callback = match flow {
            Flow::Clean => stack.demo("/callback"),
            Flow::Legacy => stack.demo("/legacy/callback"),
        };
        let end = self.browser.type_in(&callback).await;
        end.response.expect("a page")
    }
}

#[tokio::test]
async fn a_guard_that_a_lesson_has_set_ends_with_a_reset() {
    let stack = TestStack::start().await;
    let control = &stack.urls().control;
    for guard in ["always", "off"] {
        let form = Http::at(control).post("/do/guard");
        let form = form.header("Origin", control).form(&[("guard", guard)]);
        assert_eq!(form.send().await.status, 303, "{guard}");
    }
    let attacker = Attacker::at_the_demo(&stack, Flow::Clean).await;
    let unasked = Browser::new();
    let end = unasked.follow_from(LURE, &attacker.bait, UNSERVED).await;
    assert!(!end.url.starts_with(stack.broker()), "{}", end.url);

    for _ in 0..2 {
        let reset = stack.control(Method::POST, "/api/reset", None).await;
        reset.is(204, "");
        let attacker = Attacker::at_the_demo(&stack, Flow::Clean).await;
        lured(&stack, &attacker).await;
    }
}

/// A victim on the page that asks, where the attacker's link led.
async fn lured(stack: &TestStack, attacker: &Attacker) -> (Browser, Response) {
    let victim = Browser::new();
    let end = victim.follow_from(LURE, &attacker.bait, UNSERVED).await;
    let page = end.response.expect("a page");
    page.is_page(200, "Did you start this sign&#8209;in?");
    assert!(page.text().contains("The demo"), "{}", page.text());
    let host = stack.demo("").replace("http://", "");
    assert!(page.text().contains(&host), "{}", page.text());
    (victim, page)
}

#[track_caller]
fn shows_no_signed_in_user(page: &Response, problem: &str) {
    let mark = format!("data-problem=\"{problem}\"");
    assert!(page.text().contains(&mark), "{mark} in {}", page.text());
}

// Threats: X7, V1, CVE-2022-39222, GHSA-vh7g-p26c-j2cw.
#[tokio::test]
async fn without_a_click_of_the_victim_the_attacker_gets_nothing() {
    let stack = TestStack::start().await;
    let attacker = Attacker::at_the_demo(&stack, Flow::Clean).await;
    let (victim, _) = lured(&stack, &attacker).await;
    assert_eq!(victim.count_cookies(stack.broker()), 0);
    assert_eq!(stack.token_calls(GOOGLE), 0);
    let page = attacker.follows_the_callback(&stack, Flow::Clean).await;
    shows_no_signed_in_user(&page, "pending");
}

// Threats: X7, V7.
#[tokio::test]
async fn with_the_victims_click_it_succeeds_and_the_audit_log_knows_where_it_began() {
    let stack = TestStack::start().await;
    let attacker = Attacker::at_the_demo(&stack, Flow::Clean).await;
    let (victim, page) = lured(&stack, &attacker).await;
    let go_on = format!("{}/continue", attacker.bait);
    let end = victim.press_until(&attacker.bait, &go_on, UNSERVED).await;

    // The victim's browser is at the demo, which does not know it …
    assert_eq!(end.url, stack.demo("/callback"));
    shows_no_signed_in_user(&end.response.expect("a page"), "no_session");
    // … and the attacker is in, as the victim.
    let page_of_attacker = attacker.follows_the_callback(&stack, Flow::Clean).await;
    assert!(
        page_of_attacker.text().contains("Ada Lovelace"),
        "{}",
        page_of_attacker.text()
    );

    let request_id = page.header("x-request-id").expect("an id");
    let visit = logs::lines_with(&[&format!("request_id=\"{request_id}\"")]);
    let [line] = &visit[..] else {
        panic!("not one line: {visit:?}")
    };
    for field in [
        "operation=\"GET /login/{handle}\"",
        "provenance=\"foreign\"",
        "rule=\"relay.start_origin\"",
        "committed=false",
    ] {
        assert!(line.contains(field), "{field} in {line}");
    }
    let operation = "POST /login/{handle}/continue";
    assert_eq!(logs::calls_about_login_of(request_id, operation), 1);
}

// Threats: V1.
#[tokio::test]
async fn a_careful_victim_ends_it_for_the_attacker() {
    let stack = TestStack::start().await;
    let attacker = Attacker::at_the_demo(&stack, Flow::Clean).await;
    let (victim, _) = lured(&stack, &attacker).await;
    let cancel = format!("{}/cancel", attacker.bait);
    let end = victim.press_until(&attacker.bait, &cancel, UNSERVED).await;
    assert_eq!(end.url, stack.demo("/callback"));
    assert_eq!(stack.token_calls(GOOGLE), 0);
    let page = attacker.follows_the_callback(&stack, Flow::Clean).await;
    shows_no_signed_in_user(&page, "access_denied");
}

// Threats: V3.
#[tokio::test]
async fn a_page_cannot_press_the_button_for_its_visitor() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    for action in ["continue", "cancel"] {
        let action = format!("{}/{action}", login.authorization_url);
        let end = Browser::new().press_until(LURE, &action, UNSERVED).await;
        end.response
            .expect("a page")
            .is_page(403, "This did not come from our own page");
    }
    let result = stack.backend.result(&login.session_key).await;
    result.is(200, PENDING);
}

// Threats: X8, V1.
#[tokio::test]
async fn in_the_legacy_flow_the_attack_fails_at_the_victims_callback() {
    let stack = TestStack::start().await;
    let attacker = Attacker::at_the_demo(&stack, Flow::Legacy).await;
    let victim = Browser::new();
    let end = victim.follow_from(LURE, &attacker.bait, UNSERVED).await;
    assert!(end.url.starts_with(&stack.demo("/legacy/callback?code=")));
    shows_no_signed_in_user(&end.response.expect("a page"), "no_session");
    let page = attacker.follows_the_callback(&stack, Flow::Legacy).await;
    assert!(!page.text().contains("Ada Lovelace"), "{}", page.text());

    let visit = victim.last_step_to(stack.broker()).response;
    let request_id = visit.header("x-request-id").expect("an id");
    let exchanges = logs::calls_about_login_of(request_id, "POST /v1/token");
    assert_eq!(exchanges, 0, "no project redeemed the code");
}

#[tokio::test]
async fn the_demos_own_sign_ins_are_vouched_for() {
    let stack = TestStack::start().await;
    let attacker = Attacker::at_the_demo(&stack, Flow::Clean).await;
    let end = attacker
        .browser
        .follow_from(&stack.demo("/"), &attacker.bait, UNSERVED)
        .await;
    assert_eq!(end.url, stack.demo("/profile"));
    let visit = attacker.browser.last_step_to(&attacker.bait).response;
    let request_id = visit.header("x-request-id").expect("an id");
    let request_id = format!("request_id=\"{request_id}\"");
    let line = logs::lines_with(&[&request_id, "from=\"browser\""]).remove(0);
    assert!(line.contains("provenance=\"vouched\""), "{line}");
}

//! A conformance run with a real browser.

use conformance::browser::{BrowserDriver, WebDriver};
use conformance::control::StackControl;
use conformance::{self, Expiry, Requirement, TestPlan};

use crate::{chromium, interactive_stack};

#[tokio::test(flavor = "multi_thread")]
async fn a_conformance_run_passes_with_a_real_browser() {
    let stack = interactive_stack().await;
    let control = StackControl::at(&stack.urls().control);
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

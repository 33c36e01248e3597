//! A conformance run whose browser is a real one.

use conformance::browser::{Browser, WebDriver};
use conformance::control::Control;
use conformance::{self, Expiry, Plan, Requirement};
use serde_json::json;

use crate::{chromium, interactive_stack};

#[tokio::test(flavor = "multi_thread")]
async fn a_real_browser_takes_its_part_in_a_conformance_run() {
    let stack = interactive_stack().await;
    let control = Control::at(&stack.urls().control);
    let [project, other] = control.projects().await.unwrap();
    let capabilities = json!({ "goog:chromeOptions": { "args": chromium::ARGUMENTS } });
    let plan = Plan {
        base_url: stack.urls().broker.clone(),
        project,
        other: Some(other),
        browser: Browser::WebDriver(WebDriver::at(chromium::driver(), capabilities)),
        control: Some(control),
        expiry: Expiry::ByControl,
    };
    let report = conformance::run(&plan, &mut |_| {}).await.unwrap();
    let all = ("PASS", Requirement::ALL.len());
    assert_eq!(report.counts()[0], all, "{}", report.table());
}

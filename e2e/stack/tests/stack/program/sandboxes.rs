//! The resources of the process that sandboxes take and give back.

use reqwest::Method;
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::http::Http;

use super::running::Running;

#[tokio::test]
async fn a_sandbox_that_finds_no_room_is_refused_and_none_leaves_a_thread_or_a_descriptor() {
    let running = Running::start_with_descriptors(160).await;
    let control = Http::at(running.url_of("inspector"));
    make_and_end(&control, 1).await;
    let before = running.usage();
    let mut made = Vec::new();
    let refused = loop {
        let response = control.post("/api/sandboxes").send().await;
        match response.status {
            201 => made.push(response.json()),
            _ => break response,
        }
        assert!(made.len() < 60, "a sandbox needs descriptors");
    };
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("ulimit -n"), "{}", refused.text());
    assert!(
        !made.is_empty(),
        "a stack and a sandbox need fewer than 160"
    );
    for sandbox in made {
        end_sandbox(&control, &sandbox).await;
    }
    make_and_end(&control, 4).await;
    running.waits_for_usage_of(before).await;
}

/// Makes sandboxes one after the other, each with a demo and a started login.
async fn make_and_end(control: &Http, number: usize) {
    for _ in 0..number {
        let body = serde_json::json!({ "consumer": true, "mode": "interactive" });
        let sandbox = control.post("/api/sandboxes").json(&body).send().await;
        assert_eq!(sandbox.status, 201, "{}", sandbox.text());
        let sandbox = sandbox.json();
        let broker = sandbox["broker"].as_str().expect("a URL");
        let backend = Backend::of(broker, &sandbox["projects"][0]);
        let login = backend.start_login("google").await;
        // The browser stays at the provider, with its connections open.
        let google = sandbox["upstreams"]["google"].as_str().expect("a URL");
        let demo = sandbox["consumer"].as_str().expect("a URL");
        let browser = Browser::new().on_page(demo);
        let end = browser.follow(&login.authorization_url).await;
        assert!(end.url.starts_with(google), "{}", end.url);
        end_sandbox(control, &sandbox).await;
    }
}

async fn end_sandbox(control: &Http, sandbox: &serde_json::Value) {
    let path = format!("/api/sandboxes/{}", sandbox["id"].as_str().expect("an id"));
    let ended = control.request(Method::DELETE, path).send().await;
    assert_eq!(ended.status, 204, "{}", ended.text());
}

//! The guide against the stack that it describes: each call is made and each address opened. Its
//! flows are followed step by step, with every answer, in `e2e/tests/readme`.

use reqwest::Method;
use serde_json::Value;
use testkit::http::Http;

use crate::control::get;
use crate::test_stack::TestStack;

#[tokio::test]
async fn every_call_and_address_of_the_guide_answers() {
    let stack = TestStack::start().await;
    let manifest = get(&stack, "/api/manifest").await.json();
    for call in list(&manifest["calls"]) {
        let path = text(&call["path"]).replace("{provider}", "google");
        let path = path.replace("{client_id}", "demo");
        if path.contains("/stream") {
            continue; // It does not end; its own tests read it.
        }
        let method = text(&call["method"]).parse().expect("a method");
        let body = Some(call["body"].clone()).filter(|it| !it.is_null());
        let answer = stack.control(method, &path, body).await;
        let has_no_object = path.contains('{') || path == "/api/practice";
        let is_known = has_no_object && !answer.text().contains("such call");
        assert!(answer.status < 300 || is_known, "{call}: {}", answer.text());
    }
    let control = &stack.urls().control;
    let mut urls = strings(&manifest);
    for language in list(&manifest["languages"]) {
        let folder = text(&language["folder"]);
        // The address of a folder only begins those of its files.
        urls.retain(|it| it != folder);
        let files = list(&language["files"]).iter();
        urls.extend(files.map(|file| format!("{folder}{}?raw", text(file))));
    }
    urls.retain(|it| it.starts_with(control));
    assert!(urls.len() > 80, "{urls:?}");
    for url in urls {
        assert_eq!(Http::new().get(&url).send().await.status, 200, "{url}");
    }
}

#[tokio::test]
async fn the_text_is_two_pages_of_what_the_manifest_says() {
    let stack = TestStack::start().await;
    let guide = get(&stack, "/llms.txt").await.text().to_owned();
    let size = (guide.lines().count(), guide.split_whitespace().count());
    assert!(size.0 <= 120 && size.1 <= 1_100, "{size:?}\n{guide}");
    let is_long = |line: &&str| line.chars().count() > 120 && line.trim().contains(' ');
    assert_eq!(guide.lines().find(is_long), None);
    let manifest = get(&stack, "/api/manifest").await.json();
    let mut known = strings(&manifest);
    known.retain(|it| it.len() > 2);
    known.sort_by_key(|it| std::cmp::Reverse(it.len()));
    for line in guide.replace("\n  ", " ").lines() {
        let mut rest = line.to_owned();
        known.iter().for_each(|it| rest = rest.replace(it, ""));
        let letters = rest.chars().filter(|it| it.is_alphabetic()).count();
        let is_known = line.starts_with('#') || letters < 10;
        assert!(is_known, "{rest:?} of {line:?}");
    }
}

#[tokio::test]
async fn the_guide_takes_nothing_and_is_not_read_by_a_page_of_another_host() {
    let stack = TestStack::start().await;
    for path in ["/api/manifest", "/llms.txt"] {
        let whole = get(&stack, path).await;
        assert_eq!(get(&stack, &format!("{path}?x")).await.text(), whole.text());
        for (method, host, status) in [
            (Method::HEAD, "localhost", 200),
            (Method::POST, "localhost", 405),
            (Method::GET, "a.example", 403),
        ] {
            let request = Http::at(&stack.urls().control).request(method, path);
            assert_eq!(request.header("Host", host).send().await.status, status);
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// Every text in a value, the names of its members, and every list and object as JSON.
fn strings(value: &Value) -> Vec<String> {
    let own = value.as_str().map(str::to_owned);
    let mut strings = vec![own.unwrap_or_else(|| value.to_string())];
    for (name, member) in value.as_object().into_iter().flatten() {
        strings.push(name.clone());
        strings.extend(self::strings(member));
    }
    let items = value.as_array().into_iter().flatten();
    strings.extend(items.flat_map(self::strings));
    strings
}

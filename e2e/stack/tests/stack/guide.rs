//! The guide against the stack that it describes: each call is made and each address opened. Its
//! flows are followed step by step, with every answer, in `e2e/tests/readme`.

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
        // The stream of events does not end.
        let is_endless = path.contains("/stream");
        let method = if is_endless {
            "HEAD"
        } else {
            text(&call["method"])
        };
        let method = method.parse().expect("a method");
        let body = Some(call["body"].clone()).filter(|it| !it.is_null());
        let answer = stack.control(method, &path, body).await;
        let has_no_object = path.contains('{') || path == "/api/practice";
        let is_known = has_no_object && !answer.text().contains("such call");
        assert!(answer.status < 300 || is_known, "{call}: {}", answer.text());
    }
    let control = &stack.urls().control;
    let mut urls: Vec<_> = strings(&manifest).collect();
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
    let mut known: Vec<_> = strings(&manifest).filter(|it| it.len() > 2).collect();
    known.sort_by_key(|it| std::cmp::Reverse(it.len()));
    for line in guide.replace("\n  ", " ").lines() {
        let is_heading = line.starts_with('#');
        let rest = known
            .iter()
            .fold(line.to_owned(), |line, it| line.replace(it, ""));
        let letters = rest.chars().filter(|it| it.is_alphabetic()).count();
        assert!(is_heading || letters < 10, "{rest:?} of {line:?}");
    }
}

#[tokio::test]
async fn the_guide_is_read_at_a_local_address_and_takes_nothing() {
    let stack = TestStack::start().await;
    for path in ["/api/manifest", "/llms.txt"] {
        let whole = get(&stack, path).await;
        assert_eq!(get(&stack, &format!("{path}?x")).await.text(), whole.text());
        for (method, host, status) in [
            ("HEAD", "localhost", 200),
            ("POST", "localhost", 405),
            ("GET", "a.example", 403),
        ] {
            let http = Http::at(&stack.urls().control);
            let request = http.request(method.parse().expect("one"), path);
            let answer = request.header("Host", host).send().await;
            assert_eq!(answer.status, status, "{method} {path} of {host}");
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
fn strings(value: &Value) -> Box<dyn Iterator<Item = String> + '_> {
    let own = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    let items = value.as_array().into_iter().flatten();
    let members = value.as_object().into_iter().flatten();
    let names = members.clone().map(|(name, _)| name.clone());
    let inner = items.chain(members.map(|(_, member)| member));
    Box::new(
        [own]
            .into_iter()
            .chain(names)
            .chain(inner.flat_map(strings)),
    )
}

//! The pages beside the inspector's: the panel that the stack adds to those of the demo, the
//! source that it points at, and the contract's page.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use agent::program::output_within;
use reqwest::Method;
use serde_json::{Value, json};
use stack::documents::DOCUMENTS;
use stack::sources::LANGUAGES;

use crate::test_stack::TestStack;
use testkit::browser::{Browser, UNSERVED};
use testkit::http::{Http, Response};
use tokio::task::spawn_blocking;

/// A browser that has signed in at the demo at `demo`, and the page that it came to.
async fn signed_in(demo: &str) -> (Browser, Response) {
    signed_in_by(demo, "/login/google").await
}

async fn signed_in_by(demo: &str, start: &str) -> (Browser, Response) {
    let browser = Browser::new();
    let (home, start) = (format!("{demo}/"), format!("{demo}{start}"));
    let end = browser.press_until(&home, &start, UNSERVED).await;
    (browser, end.response.expect("a page"))
}

#[tokio::test]
async fn the_demos_pages_keep_their_length_policy_and_head() {
    let stack = TestStack::start().await;
    let (browser, _) = signed_in(&stack.urls().consumer).await;
    let policy = browser.open(&stack.demo("/style.css")).await;
    let policy = policy.header("content-security-policy").map(str::to_owned);
    for (path, added) in [("/profile", "what-happened"), ("/", "kit-strip")] {
        let page = browser.open(&stack.demo(path)).await;
        assert!(page.text().contains(added), "{}", page.text());
        let length = page.text().len().to_string();
        assert_eq!(page.header("content-length"), Some(length.as_str()));
        assert_eq!(page.header("content-security-policy"), policy.as_deref());
        let head = browser.head(&stack.demo(path)).await;
        assert_eq!((head.status, head.text()), (200, ""));
        assert_eq!(head.header("content-length"), Some(length.as_str()));
    }
    let style = browser.open(&stack.demo("/kit/panel.css")).await;
    assert_eq!(
        style.header("content-type"),
        Some("text/css; charset=utf-8")
    );
    for path in ["/nowhere", "/login/google"] {
        let page = browser.open(&stack.demo(path)).await;
        assert!(!page.text().contains("kit-"), "{}", page.text());
    }
}

#[tokio::test]
async fn every_link_of_a_panel_leads_to_a_page_and_its_anchor() {
    let stack = TestStack::start().await;
    for start in ["/login/google", "/legacy/login/google"] {
        let (_, page) = signed_in_by(&stack.urls().consumer, start).await;
        let links = links(&page, &stack.urls().control);
        assert!(links.len() > 8, "{links:?}");
        for link in links.iter().filter(|link| link.contains('#')) {
            let (path, anchor) = link.split_once('#').expect("an anchor");
            let linked = Http::at(&stack.urls().control).get(path).send().await;
            assert_eq!(linked.status, 200, "{link}");
            let id = format!("id=\"{anchor}\"");
            assert!(linked.text().contains(&id), "{link}");
        }
    }
}

/// The paths of the links from `page` to `control`.
fn links(page: &Response, control: &str) -> Vec<String> {
    let start = format!("href=\"{control}");
    let links = page.text().split(&start).skip(1);
    let paths = links.filter_map(|rest| rest.split_once('"'));
    paths.map(|(path, _)| path.to_owned()).collect()
}

#[tokio::test]
async fn the_profile_tells_the_login_that_signed_its_user_in() {
    let stack = TestStack::start().await;
    let (browser, page) = signed_in(&stack.urls().consumer).await;
    assert!(page.text().contains("We drew a fresh session key."));
    // A login of the same browser that is still under way.
    let (home, start) = (stack.demo("/"), stack.demo("/legacy/login/google"));
    let end = stack.broker_callback("google");
    browser.press_until(&home, &start, &end).await;
    let page = browser.open(&stack.demo("/profile")).await;
    assert!(page.text().contains("We drew a fresh session key."));
    assert!(!page.text().contains("We drew a fresh state"));
}

#[tokio::test]
async fn the_demo_of_a_sandbox_leads_to_the_sandbox() {
    let stack = TestStack::start().await;
    let body = json!({ "consumer": true });
    let sandbox = stack.control(Method::POST, "/api/sandboxes", Some(body));
    let sandbox = sandbox.await.json();
    let url = |name: &str| sandbox[name].as_str().expect("a URL").to_owned();
    let (_, page) = signed_in(&url("consumer")).await;
    assert!(page.text().contains("We signed you in"), "{}", page.text());
    assert!(links(&page, &url("control")).len() > 8);
    assert!(links(&page, &stack.urls().control).is_empty());
}

#[tokio::test]
async fn only_the_files_of_the_list_are_served_as_source() {
    let stack = TestStack::start().await;
    let control = Http::at(&stack.urls().control);
    let index = control.get("/source").send().await;
    assert_eq!(index.status, 200);
    let files = links(&index, "/source/consumer-demo/src/");
    assert!(files.iter().any(|file| file == "clean.rs"), "{files:?}");
    for (path, status) in [
        ("/source/consumer-demo/src/clean.rs", 200),
        ("/source/consumer-demo/src/lib.rs", 404),
        ("/source/consumer-demo/Cargo.toml", 404),
        ("/source/%2e%2e/Cargo.toml", 404),
        ("/source//etc/passwd", 404),
    ] {
        let page = control.get(path).send().await;
        assert_eq!(page.status, status, "{path}");
    }
    for file in LANGUAGES
        .iter()
        .flat_map(|it| it.minimal.iter().chain(it.files))
    {
        assert!(index.text().contains(file.path), "{}", file.path);
        let raw = control.get(format!("/source/{}?raw", file.path));
        raw.send().await.is(200, file.text);
    }
}

/// Each document leads only to pages and anchors that are there, at the addresses of this stack.
#[tokio::test]
async fn every_link_of_every_document_leads_to_a_page_and_its_anchor() {
    let stack = TestStack::start().await;
    let control = Http::at(&stack.urls().control);
    let mut links = vec!["/docs".to_owned()];
    let mut pages = BTreeMap::new();
    while let Some(link) = links.pop() {
        let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
        if !pages.contains_key(path) {
            let page = control.get(path).send().await;
            // A lesson redirects to its beginning.
            assert!([200, 303].contains(&page.status), "{link}");
            let text = String::from_utf8_lossy(&page.body).replace(" src=", " href=");
            let main = text.split_once("<main").map_or("", |(_, main)| main);
            let main = if path.starts_with("/docs") { main } else { "" };
            assert!(!main.contains(" style=\""), "{path}");
            let found = main.split(" href=\"").skip(1);
            let found = found.filter_map(|rest| rest.split('"').next());
            for link in found.map(|it| it.trim_start_matches(&stack.urls().control)) {
                match link {
                    "" => {}
                    _ if link.starts_with('#') => links.push(format!("{path}{link}")),
                    _ if link.starts_with('/') => links.push(link.to_owned()),
                    _ => assert!(!link.contains("://127.0.0.1:80"), "{link} in {path}"),
                }
            }
            pages.insert(path.to_owned(), text);
        }
        let id = format!("id=\"{anchor}\"");
        assert!(anchor.is_empty() || pages[path].contains(&id), "{link}");
    }
    assert!(DOCUMENTS.iter().all(|it| pages.contains_key(&it.href())));
}

#[tokio::test]
async fn a_document_is_a_page_a_text_or_missing_with_a_way_out() {
    let stack = TestStack::start().await;
    let control = Http::at(&stack.urls().control);
    let own = &stack.urls().control;
    let address = format!("<{own}/lessons>");
    let link = format!("]({own}/docs/PROTECTION.md?raw#what-your-app-must-do)");
    for (path, status, says) in [
        ("CONNECT.md", 200, "<h2 id=\"the-legacy-flow\">"),
        ("README.md?raw", 200, address.as_str()),
        ("CONNECT.md?raw", 200, link.as_str()),
        ("CONNECT", 404, "<a href=\"/docs\">"),
        ("%2e%2e/justfile", 404, "<a href=\"/docs\">"),
    ] {
        let path = format!("/docs/{path}");
        let page = control
            .get(&path)
            .header("accept", "text/html")
            .send()
            .await;
        assert!(
            page.status == status && page.text().contains(says),
            "{path}"
        );
        let is_plain = page.header("content-type") == Some("text/plain; charset=utf-8");
        assert_eq!(is_plain, path.ends_with("?raw"), "{path}");
        let head = control.request(Method::HEAD, &path).send().await;
        assert_eq!(head.status, status, "{path}");
    }
}

/// The commands of a stack's contract and of a sandbox's, one after the other in a shell.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "clients"), ignore = "needs curl and openssl: just test")]
async fn the_commands_of_the_contract_sign_in_by_both_flows() {
    let stack = TestStack::start().await;
    let body = json!({ "consumer": true });
    let sandbox = stack
        .control(Method::POST, "/api/sandboxes", Some(body))
        .await;
    let sandbox = sandbox.json()["control"]
        .as_str()
        .expect("a URL")
        .to_owned();
    for control in [&stack.urls().control, &sandbox] {
        let document = Http::at(control).get("/contract/openapi.json").send().await;
        let document = document.json();
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", include_str!("flows.sh"), "flows"]);
        for operation in [
            "~1v1~1login~1session/post",
            "~1v1~1login~1result/post",
            "~1authorize/get",
            "~1v1~1token/post",
            "~1v1~1profile/get",
            "~1v1~1revoke/post",
        ] {
            let samples = document.pointer(&format!("/paths/{operation}/x-codeSamples"));
            let samples = samples.and_then(Value::as_array).expect("samples");
            assert_eq!(samples.len(), 8, "curl and seven languages: {operation}");
            shell.arg(samples[0]["source"].as_str().expect("a command"));
        }
        let run = spawn_blocking(move || output_within(shell, Duration::from_secs(60)));
        let run = run.await.expect("no panic").expect("a shell");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(
            run.stdout.matches("\"subject\":\"sub_").count(),
            2,
            "{}",
            run.stdout
        );
    }
}

/// A result is read twice; the second refusal leads to its rule, and the page has them all.
#[tokio::test]
async fn a_refusal_leads_to_its_rule_and_each_rule_has_its_place_and_advice() {
    let stack = TestStack::start().await;
    let page = stack.control(Method::GET, "/rules", None).await;
    for rule in contract::rules::Rule::ALL {
        let anchor = format!("<article class=\"rule\" id=\"{rule}\"");
        let mut places = page.text().split(&anchor).skip(1);
        let own = places
            .next()
            .unwrap_or_else(|| panic!("no place for {rule}"));
        let own = own.split("</article>").next().unwrap_or_default();
        let plain = own.replace("&#39;", "'").replace("&#34;", "\"");
        assert!(plain.contains(rule.sentence()), "{plain}");
        assert!(plain.contains(rule.advice()), "{plain}");
    }
    let unknown = Http::at(&stack.urls().broker).get("/v1/nowhere");
    assert_eq!(unknown.send().await.status, 404);
    let others = stack.control(Method::GET, "/others", None).await;
    let link = "<a href=\"/rules#request.path\">request.path</a>";
    assert!(others.text().contains(link), "{}", others.text());
}

#[tokio::test]
async fn the_contracts_page_loads_only_from_its_own_origin() {
    let stack = TestStack::start().await;
    let page = stack.control(Method::GET, "/contract", None).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").expect("a policy");
    for directive in policy.split(';').map(str::trim) {
        for source in directive.split(' ').skip(1) {
            let is_ours = ["'none'", "'self'", "'unsafe-inline'", "data:"].contains(&source);
            assert!(is_ours, "{directive}");
        }
    }
    assert!(policy.contains("script-src 'self';"), "{policy}");
    let named = page.text().split("src=\"").skip(1);
    let named: Vec<_> = named.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(named, ["/contract/scalar.js", "/contract/page.js"]);
    for script in named {
        let script = stack.control(Method::GET, script, None).await;
        let media = script.header("content-type").expect("a content type");
        assert_eq!((script.status, media), (200, "text/javascript"));
    }
}

/// Without scripts, every operation is there, with what it takes and what it answers.
#[tokio::test]
async fn without_scripts_the_contracts_page_lists_operations_parameters_fields_and_statuses() {
    let stack = TestStack::start().await;
    let page = stack.control(Method::GET, "/contract", None).await;
    let (_, plain) = page.text().split_once("<main").expect("a list");
    let (plain, _) = plain
        .split_once("</main>")
        .expect("for those without scripts");
    let sections: Vec<_> = plain.split("<section").skip(1).collect();
    let document = testkit::openapi::document();
    let of = |heading: &str| {
        let mut own = sections.iter().filter(|it| it.contains(heading));
        own.next().unwrap_or_else(|| panic!("{heading} in {plain}"))
    };
    assert_eq!(sections.len(), testkit::openapi::operations().count());
    for (method, path, _) in testkit::openapi::operations() {
        let section = of(&format!("<code>{method} {path}</code></h2>"));
        let operation = &document["paths"][path][method.to_lowercase()];
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let names = parameters.map(|it| it["name"].as_str().expect("a name"));
        let statuses = operation["responses"].as_object().expect("some").keys();
        for word in names.chain(statuses.map(String::as_str)) {
            let code = format!("<code>{word}</code>");
            assert!(section.contains(&code), "{word} in {section}");
        }
    }
    for (operation, said) in [
        ("GET /authorize", "^[A-Za-z0-9_-]{43}$"),
        ("POST /v1/token", "code_verifier"),
        ("POST /v1/token", "^[A-Za-z0-9._~-]{43,128}$"),
        ("POST /v1/token", "authorization_code"),
        ("POST /v1/token", "access_token"),
        ("POST /v1/login/session", "43 characters of A-Z"),
        (
            "POST /v1/login/result",
            "<code>profile.emailVerified</code>: boolean. Whether the",
        ),
        ("GET /v1/profile", "string or null. "),
        ("GET /api/providers", "curl -i "),
    ] {
        let section = of(&format!("<code>{operation}</code>"));
        assert!(section.contains(said), "{said} in {section}");
    }
}

#[tokio::test]
async fn the_contract_page_shows_the_published_document_with_the_kit_choices() {
    let stack = TestStack::start().await;
    let published = stack.backend.http.get("/openapi.json").send().await;
    published.is(200, contract::openapi::DOCUMENT);
    let shown = stack.control(Method::GET, "/contract/openapi.json", None);
    let mut shown = shown.await.json();
    assert_eq!(shown["servers"][0]["url"], stack.broker());
    let revoked = &shown["paths"]["/v1/revoke"]["post"]["responses"]["200"];
    let said = revoked["description"].as_str().expect("a text");
    let choice = revoked["x-kit-choice"].as_str().expect("a choice");
    let is_whole = said.starts_with("The token has ended") && said.ends_with(choice);
    assert!(is_whole, "{said}");
    let mut published = published.json();
    for document in [&mut shown, &mut published] {
        document["servers"] = Value::Null;
        strip(document);
    }
    assert_eq!(shown, published);
}

/// Removes the descriptions, and the examples, which have this stack's credentials on the
/// page.
fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| {
                let is_text = name == "description" && member.is_string();
                !is_text
                    && !["example", "examples", "x-codeSamples", "x-scalar-ignore"]
                        .contains(&name.as_str())
            });
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

//! The contract's page at the control address.

use reqwest::Method;
use serde_json::Value;

use crate::test_stack::TestStack;

#[tokio::test]
async fn the_page_loads_only_from_its_own_origin() {
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
async fn without_scripts_the_page_lists_operations_parameters_fields_and_statuses() {
    let stack = TestStack::start().await;
    let page = stack.control(Method::GET, "/contract", None).await;
    let (_, plain) = page.text().split_once("<main").expect("a list");
    let (plain, _) = plain
        .split_once("</noscript>")
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
                !is_text && name != "example" && name != "examples"
            });
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

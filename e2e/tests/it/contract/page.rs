//! The contract as people read it, at the control address.

use reqwest::Method;
use serde_json::Value;

use crate::world::World;

#[tokio::test]
async fn the_page_needs_and_may_reach_nothing_but_its_own_address() {
    let world = World::start().await;
    let page = world.control(Method::GET, "/contract", None).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").expect("a policy");
    for directive in policy.split(';').map(str::trim) {
        for source in directive.split(' ').skip(1) {
            let is_ours = ["'none'", "'self'", "'unsafe-inline'", "data:"].contains(&source);
            assert!(is_ours, "{directive}");
        }
    }
    assert!(policy.contains("script-src 'self';"), "{policy}");
    let named = page.body.split("src=\"").skip(1);
    let named: Vec<_> = named.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(named, ["/contract/scalar.js", "/contract/page.js"]);
    for script in named {
        let script = world.control(Method::GET, script, None).await;
        let media = script.header("content-type").expect("a content type");
        assert_eq!((script.status, media), (200, "text/javascript"));
    }
}

#[tokio::test]
async fn a_person_reads_the_published_document_with_the_kits_choices_in_its_text() {
    let world = World::start().await;
    let shown = world.control(Method::GET, "/contract/openapi.json", None);
    let shown = shown.await.json();
    assert_eq!(shown["servers"][0]["url"], world.broker());
    assert_eq!(
        without_text(shown.clone()),
        without_text(::published::document())
    );
    let revoked = &shown["paths"]["/v1/revoke"]["post"]["responses"]["200"];
    let said = revoked["description"].as_str().expect("a text");
    let choice = revoked["x-kit-choice"].as_str().expect("a choice");
    assert!(
        said.starts_with("The token has ended") && said.ends_with(choice),
        "{said}"
    );
}

/// What is left when nobody describes anything.
fn without_text(mut document: Value) -> Value {
    document["servers"] = Value::Null;
    strip(&mut document);
    document
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("description").is_some_and(Value::is_string) {
                members.remove("description");
            }
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

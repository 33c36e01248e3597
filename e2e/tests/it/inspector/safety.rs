//! The pages show no secret and run no foreign script.

use testkit::leak_check::LeakCheck;

use super::{escaped, events, get, page};
use crate::login::{FLOWS, Flow, GOOGLE, PROVIDERS, StartedLogin};
use crate::test_stack::TestStack;
use testkit::backend::Backend;
use testkit::browser::Browser;
use testkit::fresh;

#[tokio::test]
async fn pages_run_no_script_and_take_no_style_but_their_own() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    for path in ["/", "/calls", "/others"] {
        let response = get(&stack, path).await;
        let policy = response
            .header("content-security-policy")
            .expect("a policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for word in [
            "<script>",
            "<style",
            " style=",
            " onclick=",
            "src=\"http",
            "//cdn",
        ] {
            assert!(!response.text().contains(word), "{path}: {word}");
        }
    }
    for (path, media_type) in [
        ("/inspector.js", "text/javascript"),
        ("/inspector.css", "text/css; charset=utf-8"),
        ("/diagram.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ] {
        let response = get(&stack, path).await;
        assert_eq!(response.header("content-type"), Some(media_type), "{path}");
        assert!(
            !response.text().contains("http:") || path == "/icon.svg",
            "{path}"
        );
    }
}

#[tokio::test]
async fn no_page_shows_a_secret() {
    let stack = TestStack::start().await;
    let mut secrets = vec![stack.backend.client_secret.clone()];
    for flow in FLOWS {
        for provider in PROVIDERS {
            let halfway = stack.halfway(flow, provider).await;
            secrets.extend(values_of(&halfway.answer));
            match &halfway.login {
                StartedLogin::Clean(login) => {
                    secrets.push(login.session_key.clone());
                    let handle = login.authorization_url.rsplit('/').next();
                    secrets.push(handle.expect("a handle").to_owned());
                }
                StartedLogin::Legacy(transaction) => {
                    secrets.push(transaction.state.clone());
                    secrets.push(transaction.verifier.clone());
                }
            }
            halfway.finish(&stack.backend).await.is_ada(provider);
        }
    }
    let mut pages = page(&stack, "/").await;
    pages += &page(&stack, "/others").await;
    for event in events(&stack).await.as_array().expect("a list") {
        if let (Some(login), Some(call)) = (event["login"].as_str(), event["request_id"].as_str()) {
            let path = format!("/logins/{login}");
            pages += &page(&stack, &format!("{path}?call={call}")).await;
            pages += get(&stack, &format!("{path}/diagram.svg")).await.text();
        }
    }
    assert!(pages.contains("[masked"));
    let secrets = LeakCheck::over(secrets.into_iter().map(|secret| ("secret", secret)));
    assert_eq!(secrets.search(&pages), []);
}

#[tokio::test]
async fn a_project_can_have_any_printable_name() {
    let stack = TestStack::start().await;
    let name = "<script>alert(1)</script>\" onload=\"";
    let backend: Backend = stack.other_project(name).await;
    let login = backend.start_login(GOOGLE).await;
    Browser::new().follow(&login.authorization_url).await;
    let page = page(&stack, "/").await;
    assert!(
        !page.contains("<script>") && !page.contains("\" onload"),
        "{page}"
    );
    assert!(page.contains(&escaped(name)));
}

#[tokio::test]
async fn a_foreign_name_of_an_exchange_opens_nothing() {
    let stack = TestStack::start().await;
    stack.backend.start_login(GOOGLE).await;
    for call in ["unknown", "%22%3E%3Cscript%3E", &fresh::secret()] {
        let page = page(&stack, &format!("/?call={call}")).await;
        assert!(!page.contains("id=\"exchange\"") && !page.contains("<script>"));
    }
}

/// Every value in the query of `url` that could be a secret.
fn values_of(url: &str) -> Vec<String> {
    let url = url::Url::parse(url).expect("a URL");
    let pairs = url.query_pairs();
    let secret = pairs.filter(|(name, _)| name == "code" || name == "state");
    secret.map(|(_, value)| value.into_owned()).collect()
}

//! The pages run no script but their own, and escape every foreign name. The search for
//! secrets in them is in `secrets_stay_in`.

use super::{escaped, get, page};
use crate::login::{Flow, GOOGLE};
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

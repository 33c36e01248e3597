//! The headers of every answer, whoever makes it.

use broker::seal::SealKey;
use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::world::{Answer, Browser, World, authorize_path};

#[tokio::test]
async fn a_request_id_is_always_ours_and_never_twice_the_same() {
    let world = World::start().await;
    let mut ids = std::collections::HashSet::new();
    for _ in 0..20 {
        let request = world
            .request(Method::GET, "/api/providers")
            .header("X-Request-Id", "mine");
        let id = Answer::to(request)
            .await
            .header("x-request-id")
            .unwrap()
            .to_owned();
        assert_ne!(id, "mine");
        assert!(ids.insert(id));
    }
}

#[tokio::test]
async fn a_page_may_load_its_style_and_nothing_else() {
    let world = World::start().await;
    let page = Browser::of(&world).get("/login/unknown").await;
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "style-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.split("; ").any(|own| own == part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(
        page.header("cross-origin-opener-policy"),
        Some("same-origin")
    );
    assert!(
        page.body
            .contains(r#"<link rel="stylesheet" href="/style.css">"#)
    );
    let style = world.get("/style.css").await;
    assert_eq!(style.status, 200);
    assert_eq!(
        style.header("content-type"),
        Some("text/css; charset=utf-8")
    );
    assert!(!style.body.contains("url("), "nothing of others is loaded");
}

#[tokio::test]
async fn a_redirect_does_not_sever_a_popup_from_its_opener() {
    let world = World::start().await;
    let away = Browser::of(&world).get(&authorize_path()).await;
    assert_eq!(away.status, 303);
    assert_eq!(away.header("cross-origin-opener-policy"), None);
}

#[tokio::test]
async fn transport_security_is_promised_only_by_an_https_broker() {
    let world = World::start().await;
    let answer = world.get("/api/providers").await;
    assert_eq!(answer.header("strict-transport-security"), None);
    let world = World::start_with(|config| {
        config.base_url = "https://broker.example".parse().unwrap();
        config.cookie_keys = vec![SealKey::from_random(&[7; 32])];
    })
    .await;
    let answer = world.get("/api/providers").await;
    assert_eq!(
        answer.header("strict-transport-security"),
        Some("max-age=31536000")
    );
}

/// Sends bytes and returns whatever comes back until the connection closes.
async fn raw(world: &World, bytes: &[u8]) -> String {
    let address = ("127.0.0.1", world.port());
    let mut wire = tokio::net::TcpStream::connect(address).await.unwrap();
    wire.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    wire.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap().to_lowercase()
}

#[tokio::test]
async fn a_request_line_that_reaches_us_gets_our_answer_however_odd_it_is() {
    let world = World::start().await;
    for target in [
        "/%",
        "/%zz",
        "/login/%00",
        "/login/%ff",
        "/authorize?state=%",
        "/authorize?%ff=%ff",
        "//",
        "//evil.test/login/x",
        "/login/..",
        "/login/../v1/token",
        "http://evil.test/login/x",
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let answer = raw(&world, request.as_bytes()).await;
        assert!(answer.starts_with("http/1.1 40"), "{target}: {answer}");
        assert!(
            answer.contains("\"error\":\"request_failed\""),
            "{target}: {answer}"
        );
        assert!(answer.contains("\r\nx-request-id: "), "{target}: {answer}");
        assert!(
            answer.contains("\r\ncache-control: no-store"),
            "{target}: {answer}"
        );
        assert!(!answer.contains("\r\nlocation:"), "{target}: {answer}");
    }
}

#[tokio::test]
async fn a_header_with_an_underscore_is_not_the_one_with_a_hyphen() {
    let world = World::start().await;
    let token = world.access_token().await;
    let request = format!(
        "GET /v1/profile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         HTTP_AUTHORIZATION: Bearer {token}\r\nX_Authorization: Bearer {token}\r\n\r\n"
    );
    let answer = raw(&world, request.as_bytes()).await;
    assert!(answer.starts_with("http/1.1 401"), "{answer}");
}

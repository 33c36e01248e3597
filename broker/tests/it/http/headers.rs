//! The headers of every answer, whoever makes it.

use std::collections::HashSet;

use broker::cookie_cipher::CookieKey;
use reqwest::{Method, RequestBuilder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::world::{Answer, Browser, CALLBACK, World, authorize_path, back_path};

#[tokio::test]
async fn a_request_id_is_always_ours_and_never_twice_the_same() {
    let world = World::start().await;
    let mut ids = HashSet::new();
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

/// Each of our routes, asked well and badly, in a world that is reached by HTTP or
/// by HTTPS.
#[tokio::test]
async fn every_answer_of_every_route_carries_its_headers() {
    let https = World::start_with(|config| {
        config.base_url = "https://broker.example".parse().unwrap();
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    })
    .await;
    ask_everything(&https, Some("max-age=31536000")).await;
    let http = World::start().await;
    ask_everything(&http, None).await;

    // And each of them was asked so that it did what it is for.
    sign_in_by_every_route(&http).await;
    let done: HashSet<_> = http
        .every_event()
        .into_iter()
        .filter(|event| event.status.is_some_and(|status| status < 400))
        .map(|event| event.operation)
        .collect();
    for (method, path) in &http.routes {
        assert!(
            done.contains(&format!("{method} {path}")),
            "{method} {path}"
        );
    }
}

const METHODS: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::PATCH,
    Method::OPTIONS,
    Method::TRACE,
];

/// Asks for each path by each method, as a program, as a browser, and as a page of
/// somebody else.
async fn ask_everything(world: &World, promise: Option<&str>) {
    let paths = world.routes.iter().map(|(_, path)| path.as_str());
    let paths: HashSet<_> = paths.chain(["/", "/nowhere", "/v1/nowhere"]).collect();
    assert!(paths.len() > 15, "{paths:?}");
    for path in paths {
        let path = path
            .replace("{handle}", "unknown")
            .replace("{provider}", "github")
            .replace("{_}", "unknown");
        for verb in METHODS {
            for dress in [
                |request: RequestBuilder| request,
                |request: RequestBuilder| request.header("Accept", "text/html"),
                |request: RequestBuilder| {
                    request
                        .header("Origin", "https://evil.example")
                        .header("Access-Control-Request-Method", "POST")
                        .json(&"junk")
                },
                |request: RequestBuilder| request.form(&[("_method", "get")]),
                |request: RequestBuilder| request.query(&[("session_key", "x")]),
            ] {
                let answer = Answer::to(dress(world.request(verb.clone(), &path))).await;
                answer.is_complete();
                let promised = answer.header("strict-transport-security");
                assert_eq!(promised, promise, "{verb} {path}");
            }
        }
    }
}

/// Signs in by both flows, with everything that a backend or a browser can ask for
/// on the way.
async fn sign_in_by_every_route(world: &World) {
    let path = world.session(1).await;
    for (key, action) in [(2, "cancel"), (3, "continue")] {
        let asked = world.session(key).await;
        let stranger = Browser::at(world, "https://evil.example/");
        let page = stranger.get(&asked).await;
        page.is_complete_but_for_its_policies();
        let pressed = stranger.press(&format!("{asked}/{action}")).await;
        assert_eq!(pressed.status, 303);
        pressed.is_complete();
    }
    let browser = Browser::of(world);
    let away = browser.get(&path).await;
    let back = back_path(&away, "code=upstream-code");
    browser.get(&back).await.goes_to(CALLBACK);
    // Over the address that ends a fragment.
    browser.get(&path).await.goes_to(CALLBACK);
    let token = world.access_token().await;
    let authorize = authorize_path();
    let mut answers = vec![
        away,
        world.result(1).await,
        world.profile(&token).await,
        world.revoke(&token).await,
        Browser::of(world).get(&authorize).await,
    ];
    for path in [
        "/api/providers",
        "/livez",
        "/readyz",
        "/style.css",
        "/question.js",
    ] {
        answers.push(world.get(path).await);
    }
    for path in [&path, &authorize, &back] {
        answers.push(Answer::to(world.request(Method::HEAD, path)).await);
    }
    for answer in answers {
        assert!(answer.status < 400, "{answer:?}");
        answer.is_complete();
    }
}

/// Sends bytes and returns whatever comes back until the connection closes.
pub(super) async fn raw(world: &World, bytes: &[u8]) -> String {
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
        let answer = raw(&world, line(target).as_bytes()).await;
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

#[tokio::test]
async fn a_fragment_in_a_request_line_opens_nothing() {
    let world = World::start().await;
    let answer = raw(&world, line("/livez").as_bytes()).await;
    assert!(answer.starts_with("http/1.1 200"), "{answer}");
    for (target, status) in [
        ("/v1/profile#/livez", 401),
        ("/v1/profile?#/livez", 401),
        ("/v1/profile?x=#/livez", 401),
        ("/v1/profile%23/livez", 404),
        ("/v1/profile%3F/livez", 404),
    ] {
        let answer = raw(&world, line(target).as_bytes()).await;
        let expected = format!("http/1.1 {status}");
        assert!(answer.starts_with(&expected), "{target}: {answer}");
    }
}

/// A whole request for `target`, as no client would write it.
fn line(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}

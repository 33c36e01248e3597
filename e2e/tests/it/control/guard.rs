//! The callers of the control API: programs of this machine and its own page are
//! allowed, pages of other origins are not.

use reqwest::Method;
use stack::{Stack, StackSettings};

use super::{get, refuses};
use crate::test_stack::TestStack;
use testkit::http::Http;

/// Paths of every kind: with a call, with another method's, with none.
const PATHS: [&str; 6] = [
    "/",
    "/api/stack",
    "/api/reset",
    "/api/clock/advance",
    "/api/nothing",
    "/nothing/at/all",
];

const METHODS: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
    Method::TRACE,
];

#[tokio::test]
async fn no_page_of_another_origin_can_call_anything() {
    let stack = TestStack::start().await;
    let control = stack.urls().control.clone();
    let port = control.rsplit(':').next().expect("a port").to_owned();
    stack.advance_seconds(10);
    let [host, origin, site] = ["the Host must be", "of another origin", "of another site"];
    for (header, value, reason) in [
        ("Host", "evil.example", host),
        ("Host", "localhost.evil.example", host),
        ("Host", "127.0.0.1.evil.example", host),
        ("Host", "0.0.0.0", host),
        ("Origin", "https://evil.example", origin),
        ("Origin", "null", origin),
        ("Origin", &stack.urls().consumer, origin),
        ("Origin", &format!("https://127.0.0.1:{port}"), origin),
        ("Sec-Fetch-Site", "cross-site", site),
        ("Sec-Fetch-Site", "same-site", site),
    ] {
        for path in PATHS {
            for method in METHODS {
                let is_head = method == Method::HEAD;
                let request = Http::new()
                    .request(method, format!("{control}{path}"))
                    .header(header, value);
                let response = request.send().await;
                assert_eq!(response.status, 403, "{header}: {value} {path}");
                assert!(is_head || response.json()["error"] == "control_refused");
                assert!(is_head || response.text().contains(reason), "{response:?}");
            }
        }
    }
    let time = get(&stack, "/api/clock").await.json();
    assert_eq!(time["advanced_seconds"], 10.0);
}

#[tokio::test]
async fn its_own_page_and_programs_of_this_machine_are_allowed() {
    let stack = TestStack::start().await;
    let control = stack.urls().control.clone();
    let port = control.rsplit(':').next().expect("a port").to_owned();
    for headers in [
        vec![],
        vec![("Sec-Fetch-Site", "none".to_owned())],
        vec![("Sec-Fetch-Site", "same-origin".to_owned())],
        vec![("Origin", control.clone())],
        vec![("Host", format!("localhost:{port}"))],
        vec![("Host", format!("LOCALHOST:{port}"))],
        vec![("Host", format!("[::1]:{port}"))],
        vec![
            ("Host", format!("localhost:{port}")),
            ("Origin", format!("http://localhost:{port}")),
        ],
    ] {
        let mut request = Http::new().get(format!("{control}/api/stack"));
        for (name, value) in &headers {
            request = request.header(*name, value);
        }
        assert_eq!(request.send().await.status, 200, "{headers:?}");
    }
}

#[tokio::test]
async fn a_link_of_another_page_opens_a_page_and_nothing_else() {
    let stack = TestStack::start().await;
    let from_a_link = [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let visit = async |method: Method, path: &str, headers: [(&str, &str); 3]| {
        let url = format!("{}{path}", stack.urls().control);
        let request = Http::new().request(method, url);
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        });
        request.send().await.status
    };
    for page in ["/", "/calls", "/others", "/contract"] {
        assert_eq!(visit(Method::GET, page, from_a_link).await, 200, "{page}");
    }
    // However the path is spelled: the router decodes it.
    for call in [
        "/api/stack",
        "/api/projects",
        "/api/events",
        "/%61pi/projects",
        "//api/stack",
        "/api//projects",
    ] {
        assert_eq!(visit(Method::GET, call, from_a_link).await, 403, "{call}");
    }
    for path in ["/api/reset", "/do/reset", "//do/reset", "/%64o/reset"] {
        assert_eq!(visit(Method::POST, path, from_a_link).await, 403, "{path}");
        let without_origin = Http::new().post(format!("{}{path}", stack.urls().control));
        let status = without_origin.send().await.status;
        let expected = if path == "/api/reset" { 204 } else { 403 };
        assert_eq!(status, expected, "{path}");
    }
    // Neither a frame nor a script of the other page.
    let mut frame = from_a_link;
    frame[2].1 = "iframe";
    let mut script = from_a_link;
    script[1].1 = "no-cors";
    for embedded in [frame, script] {
        assert_eq!(visit(Method::GET, "/", embedded).await, 403, "{embedded:?}");
    }
}

#[tokio::test]
async fn one_more_host_name_can_be_configured() {
    let settings = StackSettings {
        control_host: Some("stack.internal".to_owned()),
        ..StackSettings::for_tests()
    };
    let stack = Stack::start(settings).await.expect("free ports");
    for (host, status) in [
        ("stack.internal", 200),
        ("Stack.Internal:8010", 200),
        ("127.0.0.1", 200),
        ("other.internal", 403),
        ("stack.internal.evil.example", 403),
    ] {
        let url = format!("{}/api/stack", stack.urls().control);
        let response = Http::new().get(url).header("Host", host).send().await;
        assert_eq!(response.status, status, "{host}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused_wherever_it_is_sent() {
    let stack = TestStack::start().await;
    let control = &stack.urls().control;
    for path in PATHS {
        for media_type in [
            "application/x-www-form-urlencoded",
            "text/plain",
            "multipart/form-data",
        ] {
            let request = Http::new()
                .post(format!("{control}{path}"))
                .header("Content-Type", media_type)
                .body(r#"{"seconds":600}"#);
            refuses(&request.send().await, 415, "application/json");
        }
        for method in ["get", "put", "delete"] {
            // Rocket reads the method out of a form's body.
            let form = Http::new().post(format!("{control}{path}"));
            let form = form.form(&[("_method", method)]);
            refuses(&form.send().await, 415, "application/json");
        }
        let untyped = Http::new().post(format!("{control}{path}")).body("{}");
        refuses(&untyped.send().await, 415, "application/json");
    }
    let time = get(&stack, "/api/clock").await.json();
    assert_eq!(time["advanced_seconds"], 0.0);
}

//! The callers of the control API: programs of this machine and its own page are
//! allowed, pages of other origins are not.

use reqwest::Method;
use stack::StackSettings;
use testkit::http::Http;

use super::refuses;
use crate::test_stack::TestStack;

/// Paths of every kind: with a call, with another method's, with none.
const PATHS: [&str; 6] = [
    "/",
    "/api/stack",
    "/api/reset",
    "/api/clock/advance",
    "/api/nothing",
    "/nothing/at/all",
];

/// Sends a request with these headers.
async fn send(
    stack: &TestStack,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> testkit::http::Response {
    let request = Http::at(&stack.urls().control);
    let request = request.request(method.parse().expect("a method"), path);
    let with =
        |request: testkit::http::Request, (name, value): &(&str, &str)| request.header(name, value);
    headers.iter().fold(request, with).send().await
}

#[tokio::test]
async fn no_page_of_another_origin_can_call_anything() {
    let stack = TestStack::start().await;
    let https = stack.urls().control.replace("http:", "https:");
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
        ("Origin", &https, origin),
        ("Sec-Fetch-Site", "cross-site", site),
        ("Sec-Fetch-Site", "same-site", site),
    ] {
        for path in PATHS {
            for method in [
                "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
            ] {
                let response = send(&stack, method, path, &[(header, value)]).await;
                assert_eq!(response.status, 403, "{method} {path} {header}: {value}");
                if method != "HEAD" {
                    refuses(&response, 403, reason);
                }
            }
        }
    }
    assert_eq!(stack.clock().advanced_ms(), 10_000);
}

#[tokio::test]
async fn its_own_page_programs_of_this_machine_and_one_more_host_are_allowed() {
    let stack = TestStack::start_with(StackSettings {
        control_host: Some("stack.internal".to_owned()),
        ..StackSettings::for_tests()
    })
    .await;
    let control = stack.urls().control.as_str();
    let port = control.rsplit(':').next().expect("a port");
    let [localhost, capitals, ipv6] =
        ["localhost", "LOCALHOST", "[::1]"].map(|it| format!("{it}:{port}"));
    let origin = format!("http://{localhost}");
    for (headers, status) in [
        (&[][..], 200),
        (&[("Sec-Fetch-Site", "none")], 200),
        (&[("Sec-Fetch-Site", "same-origin")], 200),
        (&[("Origin", control)], 200),
        (&[("Host", &*localhost)], 200),
        (&[("Host", &*capitals)], 200),
        (&[("Host", &*ipv6)], 200),
        (&[("Host", "127.0.0.1")], 200),
        (&[("Host", &*localhost), ("Origin", &*origin)], 200),
        (&[("Host", "stack.internal")], 200),
        (&[("Host", "Stack.Internal:8010")], 200),
        (&[("Host", "other.internal")], 403),
        (&[("Host", "stack.internal.evil.example")], 403),
    ] {
        let response = send(&stack, "GET", "/api/stack", headers).await;
        assert_eq!(response.status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn a_link_of_another_page_opens_a_page_and_nothing_else() {
    let stack = TestStack::start().await;
    let visit = |mode, dest| {
        [
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Mode", mode),
            ("Sec-Fetch-Dest", dest),
        ]
    };
    let from_a_link = visit("navigate", "document");
    // However the path is spelled: the router decodes it.
    for (method, path, status) in [
        ("GET", "/", 200),
        ("GET", "/calls", 200),
        ("GET", "/others", 200),
        ("GET", "/contract", 200),
        ("GET", "/api/stack", 403),
        ("GET", "/api/projects", 403),
        ("GET", "/api/events", 403),
        ("GET", "/%61pi/projects", 403),
        ("GET", "//api/stack", 403),
        ("GET", "/api//projects", 403),
        ("POST", "/api/reset", 403),
        ("POST", "/do/reset", 403),
        ("POST", "//do/reset", 403),
        ("POST", "/%64o/reset", 403),
    ] {
        let response = send(&stack, method, path, &from_a_link).await;
        assert_eq!(response.status, status, "{method} {path}");
    }
    for (path, status) in [
        ("/api/reset", 204),
        ("/do/reset", 403),
        ("/%64o/reset", 403),
    ] {
        let without_origin = send(&stack, "POST", path, &[]).await;
        assert_eq!(without_origin.status, status, "{path}");
    }
    // Neither a frame nor a script of the other page.
    for embedded in [visit("navigate", "iframe"), visit("no-cors", "document")] {
        let response = send(&stack, "GET", "/", &embedded).await;
        assert_eq!(response.status, 403, "{embedded:?}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused_wherever_it_is_sent() {
    let stack = TestStack::start().await;
    let form = "application/x-www-form-urlencoded";
    for path in PATHS {
        for (media_type, body) in [
            (Some(form), r#"{"seconds":600}"#),
            (Some("text/plain"), r#"{"seconds":600}"#),
            (Some("multipart/form-data"), r#"{"seconds":600}"#),
            (None, "{}"),
            // Rocket reads the method out of a form's body.
            (Some(form), "_method=get"),
            (Some(form), "_method=put"),
            (Some(form), "_method=delete"),
        ] {
            let request = Http::at(&stack.urls().control);
            let request = request.request(Method::POST, path).body(body);
            let request = match media_type {
                Some(media_type) => request.header("Content-Type", media_type),
                None => request,
            };
            refuses(&request.send().await, 415, "application/json");
        }
    }
    assert_eq!(stack.clock().advanced_ms(), 0);
}

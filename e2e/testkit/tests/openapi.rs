//! The contract check accepts what the contract documents, and nothing else.

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use testkit::http::{PENDING, REFUSED, Response};
use testkit::openapi::check;

const RESULT: &str = "/v1/login/result";

fn response(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Response {
    let all = headers.iter().chain(&[("x-request-id", "one")]);
    let all = all.map(|(name, value)| {
        let value = HeaderValue::from_static(value);
        (HeaderName::from_static(name), value)
    });
    Response {
        status,
        headers: all.collect::<HeaderMap>(),
        body: body.into(),
    }
}

fn json(status: u16, body: &str) -> Response {
    response(status, &[("content-type", "application/json")], body)
}

fn html(status: u16, body: &str) -> Response {
    response(status, &[("content-type", "text/html")], body)
}

fn away(body: &str) -> Response {
    response(303, &[("location", "https://app.example/cb")], body)
}

#[test]
fn a_documented_response_is_no_violation_and_any_other_is() {
    const LOGIN: &str = "/login/handle";
    const PROFILE: &str = "/v1/profile";
    const STATUS: &str = "it documents only";
    let (get, post) = (Method::GET, Method::POST);
    let leaked = r#"{"status":"pending","session_key":"leaked"}"#;
    let rule = r#"{"error":"request_failed","rule":"unknown"}"#;
    for (method, path, response, about) in [
        (&post, RESULT, json(200, PENDING), ""),
        (&post, RESULT, json(400, REFUSED), ""),
        (&get, "/nowhere", json(404, REFUSED), ""),
        (&get, LOGIN, away(""), ""),
        (&Method::HEAD, LOGIN, response(200, &[], ""), ""),
        (&post, RESULT, json(401, REFUSED), STATUS),
        (&post, RESULT, json(500, REFUSED), STATUS),
        (&post, RESULT, json(201, PENDING), STATUS),
        (&post, PROFILE, json(200, PENDING), STATUS),
        (&get, "/nowhere", json(200, "{}"), STATUS),
        (&post, RESULT, json(200, r#"{"status":"waiting"}"#), "oneOf"),
        (
            &post,
            RESULT,
            json(200, r#"{"status":"succeeded"}"#),
            "oneOf",
        ),
        (&post, RESULT, json(200, leaked), "oneOf"),
        (&post, RESULT, json(200, "pending"), "expected"),
        (&post, RESULT, json(400, rule), "Additional properties"),
        (&get, LOGIN, away("x"), "no body"),
        (&post, RESULT, html(400, "<h1>"), "content type"),
        (&get, LOGIN, response(303, &[], ""), "Location is missing"),
        (&get, PROFILE, json(401, REFUSED), "WWW-Authenticate"),
    ] {
        match check(method, path, &response) {
            Ok(()) => assert_eq!(about, "", "{method} {path} {response:?}"),
            Err(violation) => assert!(
                !about.is_empty() && violation.contains(about),
                "{method} {path} {response:?}: {violation}"
            ),
        }
    }
}

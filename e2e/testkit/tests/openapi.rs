//! The contract check accepts what the contract documents, and nothing else.

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use testkit::http::{PENDING, REFUSED, Response};
use testkit::openapi::check;

const RESULT: &str = "/v1/login/result";

fn response(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Response {
    let headers = headers.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    let id = (
        HeaderName::from_static("x-request-id"),
        HeaderValue::from_static("one"),
    );
    Response {
        status,
        headers: headers.chain([id]).collect::<HeaderMap>(),
        body: body.into(),
    }
}

fn json(status: u16, body: &str) -> Response {
    response(status, &[("content-type", "application/json")], body)
}

#[track_caller]
fn violates(method: &Method, path: &str, response: &Response, about: &str) {
    let violation = check(method, path, response).expect_err("it is a violation");
    assert!(violation.contains(about), "{violation}");
}

#[test]
fn a_documented_response_is_no_violation() {
    assert_eq!(check(&Method::POST, RESULT, &json(200, PENDING)), Ok(()));
    assert_eq!(check(&Method::POST, RESULT, &json(400, REFUSED)), Ok(()));
    assert_eq!(check(&Method::GET, "/nowhere", &json(404, REFUSED)), Ok(()));
    let away = response(303, &[("location", "https://app.example/cb")], "");
    assert_eq!(check(&Method::GET, "/login/handle", &away), Ok(()));
    assert_eq!(
        check(&Method::HEAD, "/login/handle", &response(200, &[], "")),
        Ok(())
    );
}

#[test]
fn a_status_that_is_not_documented_is_a_violation() {
    let post = &Method::POST;
    violates(post, RESULT, &json(401, REFUSED), "it documents only");
    violates(post, RESULT, &json(500, REFUSED), "it documents only");
    violates(post, RESULT, &json(201, PENDING), "it documents only");
    violates(
        post,
        "/v1/profile",
        &json(200, PENDING),
        "it documents only",
    );
    violates(
        &Method::GET,
        "/nowhere",
        &json(200, "{}"),
        "it documents only",
    );
}

#[test]
fn a_body_that_is_not_documented_is_a_violation() {
    let post = &Method::POST;
    let wrong = |body: &str, about: &str| violates(post, RESULT, &json(200, body), about);
    wrong(r#"{"status":"waiting"}"#, "oneOf");
    wrong(r#"{"status":"succeeded"}"#, "oneOf");
    wrong(r#"{"status":"pending","session_key":"leaked"}"#, "oneOf");
    wrong("pending", "expected");
    let leaks = r#"{"error":"request_failed","rule":"code.known"}"#;
    violates(post, RESULT, &json(400, leaks), "Additional properties");
    let away = response(303, &[("location", "https://app.example/cb")], "x");
    violates(&Method::GET, "/login/handle", &away, "no body");
}

#[test]
fn another_content_type_or_a_missing_header_is_a_violation() {
    let page = response(400, &[("content-type", "text/html")], "<h1>");
    violates(&Method::POST, RESULT, &page, "content type");
    let nowhere = response(303, &[], "");
    violates(
        &Method::GET,
        "/login/handle",
        &nowhere,
        "Location is missing",
    );
    let unchallenged = json(401, REFUSED);
    violates(
        &Method::GET,
        "/v1/profile",
        &unchallenged,
        "WWW-Authenticate",
    );
}

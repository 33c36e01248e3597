//! The contract check of every suite can fail.

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::test_stack::TestStack;
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
    let ours = ("x-request-id", "one");
    let ours = (
        HeaderName::from_static(ours.0),
        HeaderValue::from_static(ours.1),
    );
    Response {
        status,
        headers: headers.chain([ours]).collect::<HeaderMap>(),
        body: body.into(),
    }
}

fn json(status: u16, body: &str) -> Response {
    response(status, &[("content-type", "application/json")], body)
}

#[track_caller]
fn complains(method: &Method, path: &str, response: &Response, about: &str) {
    let complaint = check(method, path, response).expect_err("it is wrong");
    assert!(complaint.contains(about), "{complaint}");
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
    complains(post, RESULT, &json(401, REFUSED), "it documents only");
    complains(post, RESULT, &json(500, REFUSED), "it documents only");
    complains(post, RESULT, &json(201, PENDING), "it documents only");
    complains(
        post,
        "/v1/profile",
        &json(200, PENDING),
        "it documents only",
    );
    complains(
        &Method::GET,
        "/nowhere",
        &json(200, "{}"),
        "it documents only",
    );
}

#[test]
fn a_body_that_is_not_documented_is_a_violation() {
    let post = &Method::POST;
    let wrong = |body: &str, about: &str| complains(post, RESULT, &json(200, body), about);
    wrong(r#"{"status":"waiting"}"#, "oneOf");
    wrong(r#"{"status":"succeeded"}"#, "oneOf");
    wrong(r#"{"status":"pending","session_key":"leaked"}"#, "oneOf");
    wrong("pending", "expected");
    let leaks = r#"{"error":"request_failed","rule":"code.known"}"#;
    complains(post, RESULT, &json(400, leaks), "Additional properties");
    let away = response(303, &[("location", "https://app.example/cb")], "x");
    complains(&Method::GET, "/login/handle", &away, "no body");
}

#[test]
fn another_content_type_or_a_missing_header_is_a_violation() {
    let page = response(400, &[("content-type", "text/html")], "<h1>");
    complains(&Method::POST, RESULT, &page, "content type");
    let nowhere = response(303, &[], "");
    complains(
        &Method::GET,
        "/login/handle",
        &nowhere,
        "Location is missing",
    );
    let unchallenged = json(401, REFUSED);
    complains(
        &Method::GET,
        "/v1/profile",
        &unchallenged,
        "WWW-Authenticate",
    );
}

#[tokio::test]
async fn the_served_contract_is_the_one_that_responses_are_checked_against() {
    let stack = TestStack::start().await;
    let request = stack.backend.request(Method::GET, "/openapi.json");
    let response = request.send().await;
    response.is(200, ::contract::openapi::DOCUMENT);
}

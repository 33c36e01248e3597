//! HTTP: the methods of each address, the headers that decide, and over bare sockets the
//! limits of a request and its form.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mock_upstream::{Next, Provider};
use reqwest::RequestBuilder;
use reqwest::header::HeaderValue;

use crate::test_mock::{
    GITHUB, GOOGLE, Response, TestMock, authorization, authorization_path, rows, user,
};

async fn send(mock: &TestMock, provider: Provider, method: &str, path: &str) -> Response {
    let request = mock.request(provider, method, path);
    Response::of(request.header("origin", "https://app.example")).await
}

/// The addresses of a GET.
const GETS: &str = include_str!("tables/gets.txt");

// RFC 9110, section 9.3.2.
#[tokio::test]
async fn a_head_has_the_status_and_the_headers_of_a_get_and_no_body() {
    let mock = TestMock::new().await;
    for [provider, path] in rows(GETS) {
        let provider = provider.parse().unwrap();
        let head = send(&mock, provider, "HEAD", path).await;
        let get = send(&mock, provider, "GET", path).await;
        let seen = (head.status, head.body.as_str());
        assert_eq!(seen, (get.status, ""), "{path}");
        for name in ["content-type", "content-length", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path}");
        }
        let is_404 = get.is_page(404, "404: Not found");
        assert!(is_404 || path != "/nothing", "{}", get.body);
    }
}

#[tokio::test]
async fn a_head_and_a_refused_request_begin_no_sign_in() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        mock.queue(provider, Next::User(user("1")));
        let path = authorization_path(provider);
        let path = format!("{path}?{}", authorization(provider).encoded());
        let head = send(&mock, provider, "HEAD", &path).await;
        assert_eq!((head.status, head.header("location")), (200, ""));
        let foreign = "redirect_uri=https://attacker.example/";
        let refused = mock.authorize(provider, foreign).await;
        assert!(!refused.header("location").contains("code="));
        assert_eq!(mock.upstream(provider).bytes_held(), 0);
        assert_eq!(mock.upstream(provider).queued().len(), 1);
    }
}

/// Methods that an address lacks, and those that it has.
const LACKING: &str = include_str!("tables/lacking_methods.txt");

// RFC 9110, section 15.5.6. "Authorizing OAuth apps": no preflight.
#[tokio::test]
async fn a_method_that_an_address_lacks_gets_405_and_those_that_it_has() {
    let mock = TestMock::new().await;
    for [provider, path, methods, allowed] in rows(LACKING) {
        for method in methods.split(' ') {
            let response = send(&mock, provider.parse().unwrap(), method, path).await;
            let answer = (response.status, response.header("allow"));
            assert_eq!(answer, (405, allowed), "{method} {path}");
            let is_page = response.is_page(405, "405: Method not allowed");
            assert!(is_page || method == "HEAD", "{}", response.body);
            assert_eq!(response.header("access-control-allow-origin"), "");
        }
    }
}

/// A good token call but for its headers.
async fn token_call(mock: &TestMock, provider: Provider) -> RequestBuilder {
    let form = mock.redemption(provider).await;
    mock.token_call(provider).form(&form.0)
}

#[tokio::test]
async fn a_header_that_decides_is_text_and_there_once() {
    let mock = TestMock::new().await;
    for (name, values) in [
        ("authorization", &[&b"Basic \xff"[..]][..]),
        ("authorization", &[b"Bearer a", b"Bearer b"]),
        ("content-type", &[b"application/json"]),
        ("x-github-api-version", &[b"2022-11-28\xff"]),
    ] {
        for provider in Provider::ALL {
            let mut request = token_call(&mock, provider).await;
            for value in values {
                request = request.header(name, HeaderValue::from_bytes(value).unwrap());
            }
            Response::of(request).await.assert_page(400, name);
        }
    }
}

// RFC 6749, section 2.3: a client uses one method of authentication in a request.
#[tokio::test]
async fn basic_credentials_that_cannot_be_decoded_are_not_replaced_by_those_in_the_form() {
    let mock = TestMock::new().await;
    for (provider, error) in [
        (GOOGLE, "invalid_client"),
        (GITHUB, "incorrect_client_credentials"),
    ] {
        for garbled in ["Basic", "Basic !", "Basic YQ=="] {
            let request = token_call(&mock, provider).await;
            let response = Response::of(request.header("authorization", garbled)).await;
            assert_eq!(response.text("error"), error, "{garbled}");
        }
    }
}

/// The longest body, and the maximum number of parameters.
const BODY_BYTES: usize = 64 * 1024;
const PARAMETERS: usize = 256;

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// A connection on which a read fails, rather than waits for ever.
fn connect(mock: &TestMock) -> TcpStream {
    let stream = TcpStream::connect(mock.upstream(GOOGLE).address()).unwrap();
    let limit = Some(Duration::from_secs(10));
    stream.set_read_timeout(limit).unwrap();
    stream
}

/// A token call with these further headers and this body.
fn raw_call(headers: &str, body: &str) -> String {
    format!("POST /token HTTP/1.1\r\nHost: mock\r\n{FORM}{headers}\r\n{body}")
}

fn raw_call_of(body: &str) -> String {
    raw_call(&format!("Content-Length: {}\r\n", body.len()), body)
}

/// `body` in chunks of `size` bytes.
fn in_chunks(body: &str, size: usize) -> String {
    let chunks = body.as_bytes().chunks(size);
    let chunks = chunks.map(|it| format!("{:x}\r\n{}\r\n", it.len(), str::from_utf8(it).unwrap()));
    chunks.collect::<String>() + "0\r\n\r\n"
}

fn chunked_call(body: &str) -> String {
    let chunks = in_chunks(body, 1000);
    raw_call("Transfer-Encoding: chunked\r\n", &chunks)
}

fn parameters(number: usize) -> String {
    let names: Vec<_> = (0..number).map(|n| format!("p{n}=1")).collect();
    names.join("&")
}

/// The answer to `request` until the connection ends.
fn last_answer(mock: &TestMock, request: &str) -> String {
    let mut stream = connect(mock);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Checks that `request` gets this status, and that its connection closes.
#[track_caller]
fn check_refused(mock: &TestMock, request: &str, status: u16) {
    let answer = last_answer(mock, request);
    let expected = format!("HTTP/1.1 {status} ");
    assert!(answer.starts_with(&expected), "{answer} to {request:.200}");
}

#[tokio::test]
async fn a_head_or_a_body_over_its_limits_is_refused() {
    let mock = TestMock::new().await;
    for body in ["a".repeat(BODY_BYTES + 1), parameters(PARAMETERS + 1)] {
        check_refused(&mock, &raw_call_of(&body), 413);
        check_refused(&mock, &chunked_call(&body), 413);
    }
    let endless = "Content-Length: 99999999999999999999\r\n";
    check_refused(&mock, &raw_call(endless, ""), 413);
    let query = parameters(PARAMETERS + 1);
    let request = format!("GET /?{query} HTTP/1.1\r\nHost: mock\r\n\r\n");
    check_refused(&mock, &request, 414);
    let long = format!("X: {}\r\n", "a".repeat(128 * 1024));
    check_refused(&mock, &raw_call(&long, ""), 431);
    assert_eq!(mock.upstream(GOOGLE).journal(), []);
}

#[tokio::test]
async fn a_request_within_the_limits_is_served() {
    let mock = TestMock::new().await;
    let code = mock.redemption(GOOGLE).await.encoded();
    let missing = "Missing required parameter";
    for (body, part) in [
        ("a".repeat(BODY_BYTES), [missing; 2]),
        (parameters(PARAMETERS), [missing; 2]),
        // The code works once.
        (code, ["access_token", "invalid_grant"]),
    ] {
        for (request, part) in [chunked_call(&body), raw_call_of(&body)].iter().zip(part) {
            let request = request.replace("Host", "Connection: close\r\nHost");
            let answer = last_answer(&mock, &request);
            assert!(answer.contains(part), "{answer}");
        }
    }
    let path = format!("/?{}", parameters(PARAMETERS));
    assert_eq!(mock.get(GOOGLE, &path).await.status, 200);
}

// RFC 9112, sections 3 and 6: each of these could be read in two ways, or in none.
#[tokio::test]
async fn a_request_of_an_ambiguous_form_is_refused() {
    let mock = TestMock::new().await;
    for headers in [
        "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: +1\r\n",
        "Content-Length: \r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
    ] {
        check_refused(&mock, &raw_call(headers, "a"), 400);
    }
    for chunks in ["x\r\na\r\n0\r\n\r\n", "1\r\nab\r\n0\r\n\r\n", "\r\n"] {
        let request = raw_call("Transfer-Encoding: chunked\r\n", chunks);
        check_refused(&mock, &request, 400);
    }
    for line in ["GET /", "GET a:b HTTP/1.1", "CONNECT 127.0.0.1:1 HTTP/1.1"] {
        check_refused(&mock, &format!("{line}\r\nHost: mock\r\n\r\n"), 400);
    }
    check_refused(&mock, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
}

// RFC 9110, section 10.1.1.
#[tokio::test]
async fn a_client_that_expects_100_continue_gets_it_before_it_sends_the_body() {
    let mock = TestMock::new().await;
    let mut stream = connect(&mock);
    let headers = "Expect: 100-continue\r\nConnection: close\r\nContent-Length: 1\r\n";
    let head = raw_call(headers, "");
    stream.write_all(head.as_bytes()).unwrap();
    let mut interim = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut interim).unwrap();
    assert!(interim.starts_with(b"HTTP/1.1 100 "));
    stream.write_all(b"a").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

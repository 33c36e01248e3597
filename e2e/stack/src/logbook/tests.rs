//! The bounds on what is remembered of the wire.

use hyper::header::{CONTENT_TYPE, SET_COOKIE};
use hyper::{Request, Response};

use super::*;

/// An exchange whose request and answer have these JSON bodies.
fn crossing(number: usize, asked: &[u8], answered: &[u8]) -> Crossing {
    let request = Request::post("/v1/token").header(CONTENT_TYPE, "application/json");
    let (asked_head, ()) = request.body(()).expect("a request").into_parts();
    let answer = Response::builder()
        .header(CONTENT_TYPE, "application/json")
        .header(SET_COOKIE, "one=1")
        .header(SET_COOKIE, "two=2");
    let (answer_head, ()) = answer.body(()).expect("an answer").into_parts();
    Crossing {
        request_id: number.to_string(),
        heard: Heard::new(&asked_head, asked),
        project: None,
        said: Some(Said::new(&answer_head, answered)),
        fault: None,
    }
}

/// JSON of so many bytes, which takes many times that when it is taken apart.
fn lists(bytes: usize) -> Vec<u8> {
    format!("[{}[]]", "[],".repeat((bytes - 4) / 3)).into_bytes()
}

#[test]
fn g7_what_crossed_the_wire_is_bounded_in_bytes_and_the_oldest_goes() {
    let logbook = Logbook::default();
    let body = lists(20_000);
    for number in 0..2_000 {
        logbook.keep(crossing(number, &body, &body));
        assert!(logbook.bytes_held() <= MOST_EXCHANGE_BYTES);
    }
    assert!(logbook.bytes_held() > MOST_EXCHANGE_BYTES / 2);
    assert!(logbook.exchange("0").is_none());
    let newest = logbook.exchange("1999").expect("the newest");
    assert!(newest.answer.expect("an answer").body.is_some());
    logbook.clear();
    assert_eq!(logbook.bytes_held(), 0);
}

#[test]
fn g7_a_small_exchange_takes_what_it_says_and_is_bounded_in_number() {
    let logbook = Logbook::default();
    for number in 0..=MOST_EXCHANGES {
        logbook.keep(crossing(number, b"{}", b"{}"));
    }
    assert!(logbook.exchange("0").is_none() && logbook.exchange("1").is_some());
    let each = logbook.bytes_held() / MOST_EXCHANGES;
    assert!((50..500).contains(&each), "{each} bytes each");
}

#[test]
fn g7_a_very_large_body_is_kept_by_its_length_alone() {
    let body = lists(63 * 1024);
    let kept = crossing(1, &body, b"{}");
    assert!(kept.bytes_held() < 500, "{} bytes", kept.bytes_held());
    let says = format!("[{} bytes of application/json]", body.len());
    assert_eq!(kept.masked().request.body, Some(says));
}

#[test]
fn g7_a_very_large_head_is_kept_by_its_length_alone() {
    let request = Request::get("/").header("x-large", "a".repeat(60_000));
    let (head, ()) = request.body(()).expect("a request").into_parts();
    let kept = Crossing {
        heard: Heard::new(&head, b""),
        ..crossing(1, b"", b"")
    };
    assert!(kept.bytes_held() < 500, "{} bytes", kept.bytes_held());
    let headers = kept.masked().request.headers;
    assert_eq!(headers.len(), 1);
    assert!(headers[0].1.contains("too many to be kept"), "{headers:?}");
}

#[test]
fn a_header_that_comes_twice_is_shown_twice() {
    let shown = crossing(1, b"{}", b"{}")
        .masked()
        .answer
        .expect("an answer");
    let names: Vec<_> = shown
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["content-type", "set-cookie", "set-cookie"]);
}

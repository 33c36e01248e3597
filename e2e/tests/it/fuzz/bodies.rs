//! Fuzzing of the three operations that take a body.

use testkit::fuzz::{FuzzRequest, Placeholders};

use super::broker::{CALLBACKS, CLIENT, FuzzedBroker, SECRET};
use super::run;
use testkit::fresh;

fn credentials() -> Placeholders {
    Placeholders::default()
        .with("{client}", CLIENT)
        .with("{secret}", SECRET)
        .with("{home}", CALLBACKS[0])
}

fn posting(path: &str, body: &[u8]) -> Option<FuzzRequest> {
    let head = format!("POST {path}\nContent-Type: application/json");
    FuzzRequest::read(head.as_bytes()).map(|head| head.with_body(body))
}

// Threats: A18.
#[test]
fn only_a_valid_body_starts_a_session() {
    let issue = |_: &FuzzedBroker| credentials().with("{key}", fresh::secret());
    let outcomes = run("session_body", issue, |bytes| {
        posting("/v1/login/session", bytes)
    });
    outcomes.assert_include(&[200, 400, 401, 413]);
}

// Threats: A18.
#[test]
fn only_a_valid_body_consumes_a_result() {
    let issue = |broker: &FuzzedBroker| {
        credentials()
            .with("{completed}", broker.completed())
            .with("{pending}", broker.pending().0)
    };
    let outcomes = run("result_body", issue, |bytes| {
        posting("/v1/login/result", bytes)
    });
    outcomes.assert_include(&[200, 400, 413]);
}

// Threats: A18.
#[test]
fn only_a_valid_body_redeems_a_code() {
    let issue = |broker: &FuzzedBroker| {
        let (code, verifier) = broker.code();
        credentials()
            .with("{code}", code)
            .with("{verifier}", verifier)
    };
    let outcomes = run("token_body", issue, |bytes| posting("/v1/token", bytes));
    outcomes.assert_include(&[200, 400, 401, 413]);
}

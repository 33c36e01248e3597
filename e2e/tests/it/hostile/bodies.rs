//! The bodies of the three operations that take one.

use testkit::fuzz::{Request, Scene};

use super::door::{CALLBACKS, CLIENT, Door, SECRET};
use super::{has_met, judge};
use testkit::fresh;

fn credentials() -> Scene {
    Scene::default()
        .with("{client}", CLIENT)
        .with("{secret}", SECRET)
        .with("{home}", CALLBACKS[0])
}

fn posting(path: &str, body: &[u8]) -> Option<Request> {
    let head = format!("POST {path}\nContent-Type: application/json");
    Request::read(head.as_bytes()).map(|head| head.with_body(body))
}

#[test]
fn a_session_is_begun_by_a_right_body_alone() {
    let set = |_: &Door| credentials().with("{key}", fresh::secret());
    let met = judge("session_body", set, |bytes| {
        posting("/v1/login/session", bytes)
    });
    has_met(&met, &[200, 400, 401, 413]);
}

#[test]
fn a_result_is_taken_by_a_right_body_alone() {
    let set = |door: &Door| {
        credentials()
            .with("{settled}", door.settled())
            .with("{pending}", door.pending().0)
    };
    let met = judge("result_body", set, |bytes| {
        posting("/v1/login/result", bytes)
    });
    has_met(&met, &[200, 400, 413]);
}

#[test]
fn a_code_is_redeemed_by_a_right_body_alone() {
    let set = |door: &Door| {
        let (code, verifier) = door.code();
        credentials()
            .with("{code}", code)
            .with("{verifier}", verifier)
    };
    let met = judge("token_body", set, |bytes| posting("/v1/token", bytes));
    has_met(&met, &[200, 400, 401, 413]);
}

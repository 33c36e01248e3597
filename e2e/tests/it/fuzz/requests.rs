//! Fuzzing of whole requests: the browser's addresses with their queries and cookies,
//! the forms of the confirmation page, bearer tokens, and heads.

use testkit::fuzz::{FuzzRequest, Placeholders};

use super::broker::{BASE, CALLBACKS, CLIENT, FuzzedBroker, SECRET};
use super::issued::authorize;
use super::run;
use testkit::fresh;

// Threats: A20.
#[test]
fn only_an_issued_bearer_token_reads_a_profile() {
    let issue = |broker: &FuzzedBroker| Placeholders::default().with("{token}", broker.token());
    let outcomes = run("bearer_request", issue, FuzzRequest::read);
    outcomes.assert_include(&[200, 400, 401]);
}

// Threats: A31.
#[test]
fn an_authorization_request_redirects_to_the_callback_or_the_provider_only() {
    let issue = |_: &FuzzedBroker| {
        Placeholders::default()
            .with("{authorize}", authorize())
            .with("{client}", CLIENT)
            .with("{home}", CALLBACKS[1])
            .with("{secret}", SECRET)
            .with("{state}", fresh::secret())
            .with("{challenge}", fresh::challenge(&fresh::secret()))
    };
    let outcomes = run("authorize_request", issue, FuzzRequest::read);
    outcomes.assert_include(&[200, 303, 400, 405, 503]);
}

// Threats: X2.
#[test]
fn only_a_vouched_visit_binds_a_login() {
    let issue = |broker: &FuzzedBroker| {
        let (_, handle) = broker.pending();
        let (cookie, _) = broker.upstream_login(&format!("/login/{handle}"));
        Placeholders::default()
            .with("{handle}", handle)
            .with("{cookie}", cookie)
    };
    let outcomes = run("visit_request", issue, FuzzRequest::read);
    outcomes.assert_include(&[200, 303, 404, 405, 503]);
}

// Threats: B1.
#[test]
fn a_callback_consumes_only_the_upstream_login_of_its_browser() {
    let issue = |broker: &FuzzedBroker| {
        let (_, handle) = broker.pending();
        let (cookie, state) = broker.upstream_login(&format!("/login/{handle}"));
        let (legacy_cookie, legacy_state) = broker.upstream_login(&authorize());
        Placeholders::default()
            .with("{cookie}", cookie)
            .with("{state}", state)
            .with("{legacy_cookie}", legacy_cookie)
            .with("{legacy_state}", legacy_state)
    };
    let outcomes = run("callback_request", issue, FuzzRequest::read);
    outcomes.assert_include(&[200, 303, 400, 403, 404]);
}

// Threats: X3.
#[test]
fn only_a_form_of_the_confirmation_page_confirms_or_cancels() {
    let issue = |broker: &FuzzedBroker| {
        let (_, handle) = broker.pending();
        let (cookie, _) = broker.upstream_login(&format!("/login/{handle}"));
        Placeholders::default()
            .with("{handle}", handle)
            .with("{cookie}", cookie)
            .with("{ours}", BASE)
    };
    let outcomes = run("relay_request", issue, FuzzRequest::read);
    outcomes.assert_include(&[303, 403, 404, 405, 415]);
}

// Threats: A37, RAUTHY-006.
#[test]
fn a_request_of_any_kind_is_answered_as_the_contract_documents() {
    let issue = |broker: &FuzzedBroker| {
        Placeholders::default()
            .with("{token}", broker.token())
            .with("{key}", fresh::secret())
            .with("{client}", CLIENT)
            .with("{secret}", SECRET)
    };
    let outcomes = run("any_request", issue, FuzzRequest::read);
    outcomes.assert_include(&[200, 400, 401, 404, 405, 415, 503]);
}

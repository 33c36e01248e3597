//! Fuzzing of whole requests: the browser's addresses with their queries and cookies, the
//! forms of the confirmation page, bearer tokens, and heads.
//!
//! The broker is the production broker, without a socket. Each of its responses is checked
//! against the published contract and against the invariants of `fuzzed_broker.rs`, which also
//! says which requests may change something. Seeds are in `broker/corpus/NAME`.

use std::cell::{Cell, RefCell};

use testkit::fresh;
use testkit::fuzz::{Corpus, FuzzRequest, Outcomes, Placeholders};
use testkit::leak_check::without_keeping_log;

use crate::fuzzed_broker::{CALLBACKS, CLIENT, FuzzedBroker, SECRET, authorize};
use crate::test_broker::BASE;

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// The number of requests after which the placeholders get new values: a code, for one,
/// does not live long.
const REFRESH_AFTER: u32 = 256;

// Threats: A20.
#[test]
fn only_an_issued_bearer_token_reads_a_profile() {
    let issue = |broker: &FuzzedBroker| Placeholders::default().with("{token}", broker.token());
    run("bearer_request", issue).assert_include(&[200, 400, 401]);
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
    run("authorize_request", issue).assert_include(&[200, 303, 400, 405, 503]);
}

// Threats: X2.
#[test]
fn only_a_vouched_visit_binds_a_login() {
    run("visit_request", a_visited_login).assert_include(&[200, 303, 404, 405, 503]);
}

// Threats: X3.
#[test]
fn only_a_form_of_the_confirmation_page_confirms_or_cancels() {
    run("relay_request", a_visited_login).assert_include(&[303, 403, 404, 405, 415]);
}

fn a_visited_login(broker: &FuzzedBroker) -> Placeholders {
    let handle = broker.pending();
    let (cookie, _) = broker.upstream_login(&format!("/login/{handle}"));
    Placeholders::default()
        .with("{handle}", handle)
        .with("{cookie}", cookie)
        .with("{ours}", BASE)
}

// Threats: B1.
#[test]
fn a_callback_consumes_only_the_upstream_login_of_its_browser() {
    let issue = |broker: &FuzzedBroker| {
        let handle = broker.pending();
        let (cookie, state) = broker.upstream_login(&format!("/login/{handle}"));
        let (legacy_cookie, legacy_state) = broker.upstream_login(&authorize());
        Placeholders::default()
            .with("{cookie}", cookie)
            .with("{state}", state)
            .with("{legacy_cookie}", legacy_cookie)
            .with("{legacy_state}", legacy_state)
    };
    run("callback_request", issue).assert_include(&[200, 303, 400, 403, 404]);
}

// Threats: A18, A37, RAUTHY-006.
#[test]
fn a_request_of_any_kind_is_answered_as_the_contract_documents() {
    let issue = |broker: &FuzzedBroker| {
        Placeholders::default()
            .with("{token}", broker.token())
            .with("{key}", fresh::secret())
            .with("{client}", CLIENT)
            .with("{secret}", SECRET)
    };
    run("any_request", issue).assert_include(&[200, 400, 401, 404, 405, 415, 503]);
}

/// Mutates the seeds of `target`, sends each as a request, and counts the statuses. In a
/// seed `{name}` stands for a value that `issue` makes, and makes anew when a request has
/// used one up.
fn run(target: &str, issue: impl Fn(&FuzzedBroker) -> Placeholders) -> Outcomes<u16> {
    without_keeping_log(|| {
        let broker = FuzzedBroker::start();
        let placeholders = RefCell::new(issue(&broker));
        let sent = Cell::new(0_u32);
        let seeds = placeholders.borrow().doubled(CORPUS.seeds(target));
        testkit::fuzz::run(target, &seeds, |bytes| {
            let request = FuzzRequest::read(&placeholders.borrow().fill(bytes))?;
            let (status, has_changed) = broker.check(&request);
            sent.set(sent.get() + 1);
            if has_changed || sent.get().is_multiple_of(REFRESH_AFTER) {
                *placeholders.borrow_mut() = issue(&broker);
            }
            Some(status)
        })
    })
}

//! Fuzzing of the broker's endpoints: the bodies of its operations, its addresses,
//! cookies and headers, and the form of the confirmation page.
//!
//! The broker is the production broker, in this process and without a socket. Each of
//! its responses is checked against the published contract and against the invariants
//! of [`broker`]; its store ([`counting_store`]) counts what a request really changed,
//! and [`entitlement`] says which requests may change something. Seeds are in
//! `e2e/corpus/NAME`.

mod bodies;
mod broker;
mod counting_store;
mod entitlement;
mod issued;
mod requests;

use std::cell::{Cell, RefCell};

use testkit::fuzz::{Corpus, FuzzRequest, Outcomes, Placeholders};
use testkit::leak_check::without_keeping_log;

use broker::FuzzedBroker;

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// The number of requests after which the placeholders get new values: a code, for one,
/// does not live long.
const REFRESH_AFTER: u32 = 256;

/// Mutates the seeds of `target`, makes requests of them by `request`, and counts the
/// statuses. In a seed `{name}` stands for a value that `issue` makes, and makes anew
/// when a request has used one up.
fn run(
    target: &str,
    issue: impl Fn(&FuzzedBroker) -> Placeholders,
    request: impl Fn(&[u8]) -> Option<FuzzRequest>,
) -> Outcomes<u16> {
    without_keeping_log(|| {
        let broker = FuzzedBroker::start();
        let placeholders = RefCell::new(issue(&broker));
        let sent = Cell::new(0_u32);
        let seeds = placeholders.borrow().doubled(CORPUS.seeds(target));
        testkit::fuzz::run(target, &seeds, |bytes| {
            let request = request(&placeholders.borrow().fill(bytes))?;
            let status = broker.check(&request);
            sent.set(sent.get() + 1);
            if broker.has_changed() || sent.get().is_multiple_of(REFRESH_AFTER) {
                *placeholders.borrow_mut() = issue(&broker);
            }
            Some(status)
        })
    })
}

//! Whatever comes in through a door of the broker, bent: the bodies of its
//! operations, its addresses, cookies and headers, and the form of the page that asks.
//!
//! The broker is the production broker, in this process and without a socket. Each of
//! its answers is held against the published contract and against what
//! [`door`] says must never be; its store ([`witness`]) tells what a call has really
//! changed. Seeds are in `e2e/corpus/NAME`.

mod bodies;
mod door;
mod plea;
mod requests;
mod scene;
mod witness;

use std::cell::{Cell, RefCell};

use testkit::fuzz::{Corpus, Met, Request, Scene};

use door::Door;

static CORPUS: Corpus = Corpus::at(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));

/// Bends the seeds of `target`, makes requests of them by `request`, and says how
/// often each status came of it. In a seed `{name}` stands for a value of the scene
/// that `set` makes, and makes anew when a request has used something of it up.
fn judge(
    target: &str,
    set: impl Fn(&Door) -> Scene,
    request: impl Fn(&[u8]) -> Option<Request>,
) -> Met<u16> {
    testkit::leak_check::without_keeping_log(|| {
        let door = Door::open();
        let scene = RefCell::new(set(&door));
        let asked = Cell::new(0_u32);
        let seeds = scene.borrow().doubled(CORPUS.seeds(target));
        testkit::fuzz::judge(target, &seeds, |bytes| {
            let Some(request) = request(&scene.borrow().fill(bytes)) else {
                return NO_HTTP;
            };
            let status = door.hear(&request);
            asked.set(asked.get() + 1);
            // A code, for one, does not live long.
            if door.has_changed() || asked.get().is_multiple_of(256) {
                *scene.borrow_mut() = set(&door);
            }
            status
        })
    })
}

/// Instead of a status: the HTTP library would not have let it in.
const NO_HTTP: u16 = 0;

/// Asserts that a target has met all of these, and so has reached what it is for.
#[track_caller]
fn has_met(met: &Met<u16>, statuses: &[u16]) {
    let missing: Vec<_> = statuses.iter().filter(|it| !met.contains_key(it)).collect();
    assert!(missing.is_empty(), "never {missing:?}: {met:?}");
}

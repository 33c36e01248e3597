//! What is sent through a door, bent: the harness of every fuzz target in this tree.
//!
//! A target is a folder of seeds and a judge, in a test of its own:
//!
//! ```no_run
//! static CORPUS: testkit::fuzz::Corpus = testkit::fuzz::Corpus::at("corpus");
//!
//! # fn parse(_: &[u8]) -> Option<String> { None }
//! let met = testkit::fuzz::judge("query", &CORPUS.seeds("query"), |bytes| parse(bytes).is_some());
//! assert!(met.len() == 2, "some are taken and some are not");
//! ```
//!
//! The judge sees each seed as it is, and then a number of bent ones: [`USUAL`] in an
//! ordinary run, or as many as `PROPTEST_CASES` says. It panics over what must not be,
//! and calls by a name what it met, so that a target that meets nothing but refusals
//! is noticed. What broke a judge is printed as a literal, to become a seed and a test.
//!
//! There is no compiler's instrumentation in it, which needs another toolchain: bending
//! goes by chance alone, and the seeds are chosen to reach what chance would not.

mod bend;
mod memory;
mod request;
mod scene;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::fs;
use std::path::Path;
use std::time::Instant;

use proptest::test_runner::{Config, TestRunner};

pub use request::Request;
pub use scene::Scene;

/// How many bent inputs a target judges when nobody asks for another number.
pub const USUAL: u32 = 1_000;

/// No target takes much longer, however many inputs are asked for.
const LONGEST_S: f64 = 120.0;

/// After so many it looks how late it is.
const AT_ONCE: u32 = 1_000;

/// From here on a run also sees whether memory only grows.
const LONG: u64 = 100_000;

/// More than this nothing that a target does may keep, over a long run.
const MOST_KEPT_KB: u64 = 128 * 1024;

/// How many proptest would run by itself: what it says when nobody asked for
/// another number.
const PROPTESTS_OWN: u32 = 256;

/// How often each name was given to an input.
pub type Met<M> = BTreeMap<M, u64>;

/// Where a crate keeps its seeds: a folder for each target.
pub struct Corpus(&'static str);

impl Corpus {
    /// The corpus in `folder`.
    pub const fn at(folder: &'static str) -> Self {
        Self(folder)
    }

    /// The seeds of `target`, in the order of their names.
    ///
    /// # Panics
    ///
    /// When there are fewer than two, or they cannot be read.
    pub fn seeds(&self, target: &str) -> Vec<Vec<u8>> {
        let folder = Path::new(self.0).join(target);
        let seeds = read_all(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        assert!(seeds.len() >= 2, "{folder:?}: a target has seeds");
        seeds
    }
}

fn read_all(folder: &Path) -> std::io::Result<Vec<Vec<u8>>> {
    let files = fs::read_dir(folder)?.map(|file| Ok(file?.path()));
    let mut paths: Vec<_> = files.collect::<std::io::Result<_>>()?;
    paths.sort();
    paths.iter().map(fs::read).collect()
}

/// How many inputs to make up: `usual`, unless `PROPTEST_CASES` says otherwise.
pub fn cases(usual: u32) -> u32 {
    match Config::default().cases {
        PROPTESTS_OWN => usual,
        another => another,
    }
}

/// Has `judge` see each of `seeds` as it is and then bent ones, as many as are asked
/// for or as there is time for, tells of it under `name`, and returns what was met.
///
/// # Panics
///
/// When the judge does; the least input that breaks it is shown.
pub fn judge<M: Ord + Debug>(name: &str, seeds: &[Vec<u8>], judge: impl Fn(&[u8]) -> M) -> Met<M> {
    let met = RefCell::new(Met::new());
    let hear = |bytes: &[u8]| *met.borrow_mut().entry(judge(bytes)).or_default() += 1;
    let begun = Begun::now();
    seeds.iter().for_each(|seed| hear(seed));
    // What a first request brings about is there now: the rest is what is kept.
    let before_kb = memory::resident_kb();
    let mut left = cases(USUAL);
    while left > 0 && begun.elapsed_s() < LONGEST_S {
        let now = left.min(AT_ONCE);
        bend_and(hear, name, seeds, now);
        left -= now;
    }
    let kept_kb = memory::resident_kb().saturating_sub(before_kb);
    let (met, seconds) = (met.into_inner(), begun.elapsed_s());
    let all: u64 = met.values().sum();
    tell(&format!(
        "{name}: {all} in {seconds:.1} s, {kept_kb} KiB kept, {met:?}"
    ));
    assert!(
        all < LONG || kept_kb < MOST_KEPT_KB,
        "{name} kept {kept_kb} KiB"
    );
    met
}

/// Lets so many bent `seeds` be heard.
fn bend_and(hear: impl Fn(&[u8]), name: &str, seeds: &[Vec<u8>], cases: u32) {
    let mut runner = TestRunner::new(Config {
        cases,
        // What breaks a judge becomes a seed, which a person has looked at.
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    });
    let ran = runner.run(&bend::bytes(seeds.to_vec()), |Shown(bytes)| {
        hear(&bytes);
        Ok(())
    });
    if let Err(broken) = ran {
        panic!("{name}: {broken}");
    }
}

/// Bytes, as a literal that can be copied into a test.
#[derive(Clone)]
struct Shown(Vec<u8>);

impl Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

#[expect(clippy::print_stdout, reason = "a long run says what it has met")]
fn tell(what: &str) {
    println!("{what}");
}

/// When a run began.
struct Begun(Instant);

#[expect(
    clippy::disallowed_methods,
    reason = "it decides how long chance is given, and nothing else"
)]
impl Begun {
    fn now() -> Self {
        Self(Instant::now())
    }

    fn elapsed_s(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

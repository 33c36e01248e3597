//! The harness of every fuzz target in this tree.
//!
//! A target is a folder of seeds and a check, in a test of its own:
//!
//! ```no_run
//! static CORPUS: testkit::fuzz::Corpus = testkit::fuzz::Corpus::at("corpus");
//!
//! # fn parse(_: &[u8]) -> Option<String> { None }
//! let seeds = CORPUS.seeds("query");
//! let outcomes = testkit::fuzz::run("query", &seeds, |bytes| Some(parse(bytes).is_some()));
//! outcomes.assert_include(&[true, false]);
//! ```
//!
//! The check gets each seed as it is, and then mutated ones: [`DEFAULT_CASES`] in an
//! ordinary run, or as many as `PROPTEST_CASES` says. It panics when an invariant does
//! not hold, and returns an outcome otherwise, so that a target that only ever refuses
//! is noticed. It returns `None` for an input that does not reach what is tested: such
//! an input is no case, and [`Outcomes`] counts it apart. A failing input is printed as
//! a literal, to become a seed and a test.
//!
//! There is no compiler's instrumentation in it, which needs another toolchain: the
//! mutations are random, and the seeds are chosen to reach what random input would not.

mod memory;
mod mutation;
mod outcomes;
mod placeholders;
mod request;

use std::cell::RefCell;
use std::fmt::{self, Debug};
use std::fs;
use std::path::Path;
use std::time::Instant;

use proptest::test_runner::{Config, TestCaseError, TestRunner};

pub use outcomes::Outcomes;
pub use placeholders::Placeholders;
pub use request::FuzzRequest;

/// The number of mutated inputs of a target in an ordinary run.
pub const DEFAULT_CASES: u32 = 1_000;

/// The end of a run, however many inputs are asked for.
const MAX_SECONDS: f64 = 120.0;

/// The number of cases between two looks at the time.
const BATCH: u32 = 1_000;

/// The length of a run from which on it also checks that memory does not only grow.
const LONG_RUN: u64 = 100_000;

/// The most memory that a target may keep over a long run.
const MAX_KEPT_KB: u64 = 128 * 1024;

/// proptest's own number of cases, without `PROPTEST_CASES`.
const PROPTEST_DEFAULT: u32 = 256;

/// The folder of a crate's seeds, with a folder for each target.
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
    /// If there are fewer than two, or they cannot be read.
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

/// The number of cases to run: `default`, unless `PROPTEST_CASES` says otherwise.
pub fn cases(default: u32) -> u32 {
    match Config::default().cases {
        PROPTEST_DEFAULT => default,
        another => another,
    }
}

/// Runs `check` on each of `seeds` and then on mutated ones, as many as are asked for
/// or as there is time for, prints a report under `name`, and returns the outcomes.
///
/// # Panics
///
/// If the check does; the smallest failing input is shown.
pub fn run<O: Ord + Debug>(
    name: &str,
    seeds: &[Vec<u8>],
    check: impl Fn(&[u8]) -> Option<O>,
) -> Outcomes<O> {
    let outcomes = RefCell::new(Outcomes::new());
    let count = |bytes: &[u8]| outcomes.borrow_mut().count(check(bytes));
    let started = Started::now();
    for seed in seeds {
        count(seed);
    }
    // What a first request allocates is there now: the rest is what is kept.
    let before_kb = memory::resident_kb();
    let mut left = cases(DEFAULT_CASES);
    while left > 0 && started.elapsed_s() < MAX_SECONDS {
        let batch = left.min(BATCH);
        run_mutated(count, name, seeds, batch);
        left -= batch;
    }
    let kept_kb = memory::resident_kb().saturating_sub(before_kb);
    let (outcomes, seconds) = (outcomes.into_inner(), started.elapsed_s());
    print(&format!(
        "{name}: {outcomes} in {seconds:.1} s, {kept_kb} KiB kept"
    ));
    assert!(
        outcomes.cases() < LONG_RUN || kept_kb < MAX_KEPT_KB,
        "{name} kept {kept_kb} KiB"
    );
    outcomes
}

/// Runs a number of mutated seeds that reach what is tested.
fn run_mutated(count: impl Fn(&[u8]) -> bool, name: &str, seeds: &[Vec<u8>], cases: u32) {
    let mut runner = TestRunner::new(Config {
        cases,
        // A failing input becomes a seed, after a developer has looked at it.
        failure_persistence: None,
        max_shrink_iters: 2_000,
        max_global_rejects: u32::MAX,
        ..Config::default()
    });
    let ran = runner.run(
        &mutation::mutated(seeds.to_vec()),
        |Shown(bytes)| match count(&bytes) {
            true => Ok(()),
            false => Err(TestCaseError::reject("it does not reach what is tested")),
        },
    );
    if let Err(failure) = ran {
        panic!("{name}: {failure}");
    }
}

/// Bytes that are printed as a literal, to be copied into a test.
#[derive(Clone)]
struct Shown(Vec<u8>);

impl Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

#[expect(clippy::print_stdout, reason = "the report of a run")]
fn print(report: &str) {
    println!("{report}");
}

/// The time at which a run started.
struct Started(Instant);

#[expect(
    clippy::disallowed_methods,
    reason = "it decides how long the run goes on, and nothing else"
)]
impl Started {
    fn now() -> Self {
        Self(Instant::now())
    }

    fn elapsed_s(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

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

mod mutation;
mod request;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Display};
use std::fs;
use std::path::Path;
use std::time::Duration;

use agent::process::resident_kib;
use agent::time::Stopwatch;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use mutation::Shown;
pub use request::FuzzRequest;

/// The number of mutated inputs of a target in an ordinary run.
pub const DEFAULT_CASES: u32 = 1_000;

/// The end of a run, however many inputs are asked for.
const MAX_TIME: Duration = Duration::from_secs(120);

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
    let watch = Stopwatch::start();
    // None where the system does not say.
    let resident_kb = || resident_kib(std::process::id()).unwrap_or_default();
    for seed in seeds {
        count(seed);
    }
    // What a first request allocates is there now: the rest is what is kept.
    let before_kb = resident_kb();
    let mut left = cases(DEFAULT_CASES);
    while left > 0 && watch.elapsed() < MAX_TIME {
        let batch = left.min(BATCH);
        run_mutated(count, name, seeds, batch);
        left -= batch;
    }
    let kept_kb = resident_kb().saturating_sub(before_kb);
    let (outcomes, seconds) = (outcomes.into_inner(), watch.elapsed().as_secs_f64());
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

#[expect(clippy::print_stdout, reason = "the report of a run")]
fn print(report: &str) {
    println!("{report}");
}

/// The number of inputs by outcome, and of those that did not reach what is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcomes<O> {
    reached: BTreeMap<O, u64>,
    not_reached: u64,
}

impl<O: Ord + Debug> Outcomes<O> {
    const fn new() -> Self {
        Self {
            reached: BTreeMap::new(),
            not_reached: 0,
        }
    }

    /// Counts an input; whether it reached what is tested.
    fn count(&mut self, outcome: Option<O>) -> bool {
        match outcome {
            Some(outcome) => {
                *self.reached.entry(outcome).or_default() += 1;
                true
            }
            None => {
                self.not_reached += 1;
                false
            }
        }
    }

    /// The number of inputs that reached what is tested.
    pub fn cases(&self) -> u64 {
        self.reached.values().sum()
    }

    /// The number of inputs with this outcome.
    pub fn of(&self, outcome: &O) -> u64 {
        self.reached.get(outcome).copied().unwrap_or_default()
    }

    /// Asserts that each of `outcomes` is among them: that the target reached what it
    /// is for.
    ///
    /// # Panics
    ///
    /// If one is missing.
    #[track_caller]
    pub fn assert_include(&self, outcomes: &[O]) {
        let missing: Vec<_> = outcomes.iter().filter(|it| self.of(it) == 0).collect();
        assert!(missing.is_empty(), "never {missing:?}: {self}");
    }
}

impl<O: Ord + Debug> Display for Outcomes<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cases, outcomes) = (self.cases(), &self.reached);
        write!(f, "{cases} inputs tested with the outcomes {outcomes:?}, ")?;
        write!(f, "{} did not reach it", self.not_reached)
    }
}

/// Values that are known only when a test runs. In a seed, `{name}` stands for one.
#[derive(Debug, Default)]
pub struct Placeholders(Vec<(&'static str, String)>);

impl Placeholders {
    /// Adds a value; `name` has its braces.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Replaces each name in `bytes`.
    pub fn fill(&self, bytes: &[u8]) -> Vec<u8> {
        let mut filled = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, others)) = rest.split_first() {
            match self.at_the_start_of(rest) {
                Some((name, value)) => {
                    filled.extend_from_slice(value.as_bytes());
                    rest = &rest[name.len()..];
                }
                None => {
                    filled.push(*first);
                    rest = others;
                }
            }
        }
        filled
    }

    /// `seeds`, and the same with the names replaced, so that the values are mutated,
    /// too.
    pub fn doubled(&self, seeds: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let filled: Vec<_> = seeds.iter().map(|seed| self.fill(seed)).collect();
        let news = seeds.iter().zip(&filled).filter(|(seed, it)| seed != it);
        let news: Vec<_> = news.map(|(_, filled)| filled.clone()).collect();
        [seeds, news].concat()
    }

    fn at_the_start_of(&self, bytes: &[u8]) -> Option<&(&'static str, String)> {
        let mut known = self.0.iter().filter(|_| bytes[0] == b'{');
        known.find(|(name, _)| bytes.starts_with(name.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::catch_unwind;

    use super::*;

    fn seeds() -> Vec<Vec<u8>> {
        vec![b"one=1".to_vec(), b"two=2&three=3".to_vec()]
    }

    #[test]
    fn a_target_gets_each_seed_as_it_is_and_then_mutated_ones() {
        let seen = Cell::new(0);
        let outcomes = run("all", &seeds(), |bytes| {
            seen.set(seen.get() + 1);
            if seen.get() <= 2 {
                assert_eq!(bytes, seeds()[seen.get() - 1]);
            }
            Some(bytes.contains(&b'='))
        });
        let all = u64::from(cases(DEFAULT_CASES)) + 2;
        assert_eq!(outcomes.cases(), all);
        assert!(outcomes.of(&false) > all / 100, "{outcomes}");
        assert!(outcomes.of(&true) > all / 2, "{outcomes}");
    }

    #[test]
    fn a_failing_input_is_shown_small_and_as_a_literal() {
        let broken = catch_unwind(|| {
            run("careful", &seeds(), |bytes| {
                assert!(!bytes.contains(&0xff), "an octet that is no text");
                Some(())
            })
        });
        let message = broken.expect_err("0xff is among what is put in");
        let message = message.downcast_ref::<String>().expect("a sentence");
        let names = ["careful: ", "an octet that is no text", "b\"", "\\xff"];
        assert!(names.iter().all(|part| message.contains(part)), "{message}");
        assert!(message.len() < 400, "{message}");
    }

    #[test]
    fn a_target_without_seeds_is_no_target() {
        let broken = catch_unwind(|| Corpus::at("corpus").seeds("nothing"));
        assert!(broken.is_err());
    }

    #[test]
    fn an_input_that_does_not_reach_what_is_tested_is_no_case() {
        let outcomes = run("some", &seeds(), |bytes| {
            bytes.len().is_multiple_of(2).then_some(())
        });
        let mutated = u64::from(cases(DEFAULT_CASES));
        assert!(outcomes.cases() >= mutated, "{outcomes}");
        assert!(!outcomes.to_string().ends_with(" 0 did not reach it"));
    }
}

//! Thousands of histories, made up by proptest and played to a real broker.
//!
//! A failure shrinks to the shortest script that still shows it and is printed so
//! that it can be pasted into [`found`](super::found); its seed goes to
//! `regressions.txt`, which belongs into the tree. `PROPTEST_CASES` sets another
//! number of histories.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestError, TestRunner};
use proptest_state_machine::ReferenceStateMachine as _;
use tokio::runtime::Runtime;

use super::coverage::Coverage;
use super::players::Players;
use super::script::Line;
use super::stage::{Database, Stage};
use super::world::World;
use testkit::leak_check::without_keeping_log;
use testkit::server::runtime;

/// How many histories a run plays.
pub(super) const HISTORIES: u32 = 2_000;

/// How many proptest would run by itself: what it says when nobody asked for
/// another number.
const PROPTESTS_OWN: u32 = 256;

/// How many brokers share the work: more than there are processors, because each
/// waits for its disk.
const BROKERS: u32 = 4;

/// How many steps a history has.
const STEPS: RangeInclusive<usize> = 10..=40;

/// The seeds of failures, which every run tries first.
const REGRESSIONS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/it/replay_and_expiry/model/regressions.txt"
);

/// Plays histories to a broker on each of the databases that `database` makes.
pub(super) fn play(database: impl Fn() -> Database) -> Record {
    let each = asked_for().div_ceil(BROKERS);
    thread::scope(|scope| {
        let runs: Vec<_> = (0..BROKERS)
            .map(|_| database())
            .map(|database| scope.spawn(move || Player::on(database).play(each)))
            .collect();
        let mut whole = Record::default();
        for run in runs {
            match run.join().expect("a run ends") {
                Ok(record) => whole.join(record),
                Err(failure) => panic!("{failure}"),
            }
        }
        whole
    })
}

/// How many histories are asked for.
pub(super) fn asked_for() -> u32 {
    match Config::default().cases {
        PROPTESTS_OWN => HISTORIES,
        another => another,
    }
}

/// Plays `script` to a broker on `database`.
#[track_caller]
pub(super) fn replay(database: Database, script: &[Line]) {
    let possible = script.iter().try_fold(World::default(), |mut world, line| {
        let is_possible = world.allows(*line);
        is_possible.then(|| world.step(*line)).map(|_| world)
    });
    assert!(possible.is_some(), "this cannot happen: {script:#?}");
    if let Err(why) = Player::on(database).perform(script, None) {
        panic!("{}", report(&why, script));
    }
}

/// What a broker was put through.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) histories: u32,
    pub(super) coverage: Coverage,
}

impl Record {
    fn join(&mut self, other: Self) {
        self.histories += other.histories;
        self.coverage.join(other.coverage);
    }
}

/// One broker, and the thread in which it all happens.
struct Player {
    runtime: Runtime,
    // proptest asks for a function that could be called at any time.
    stage: RefCell<Stage>,
    record: RefCell<Record>,
}

impl Player {
    fn on(database: Database) -> Self {
        let runtime = runtime();
        let stage = without_keeping_log(|| runtime.block_on(Stage::set(database)));
        Self {
            runtime,
            stage: RefCell::new(stage),
            record: RefCell::default(),
        }
    }

    /// Plays `cases` histories, or finds a script that fails.
    fn play(self, cases: u32) -> Result<Record, String> {
        let config = Config {
            cases,
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
            ..Config::default()
        };
        let strategy = World::sequential_strategy(STEPS);
        let run = TestRunner::new(config).run(&strategy, |(_, script, seen)| {
            self.perform(&script, seen.as_deref())
                .map_err(TestCaseError::fail)
        });
        match run {
            Ok(()) => Ok(self.record.take()),
            Err(TestError::Fail(why, (_, script, _))) => Err(report(why.message(), &script)),
            Err(TestError::Abort(why)) => Err(why.to_string()),
        }
    }

    /// Plays `script` to its end, or to where the broker differs, and counts in
    /// `seen` how far that is.
    fn perform(&self, script: &[Line], seen: Option<&AtomicUsize>) -> Result<(), String> {
        let mut stage = self.stage.borrow_mut();
        let mut record = self.record.borrow_mut();
        without_keeping_log(|| {
            self.runtime.block_on(async {
                let mut players = Players::enter(&mut stage);
                for line in script {
                    if let Some(seen) = seen {
                        seen.fetch_add(1, Ordering::SeqCst);
                    }
                    let before = players.world.clone();
                    let answer = players.play(*line).await?;
                    record.coverage.note(&before, *line, answer);
                }
                record.histories += 1;
                Ok(())
            })
        })
    }
}

/// A script that fails, to be read and to be pasted.
fn report(why: &str, script: &[Line]) -> String {
    let mut text = format!("{why}\nThe whole script:\n\n");
    let literals: Vec<_> = script.iter().map(|line| format!("{line:?},")).collect();
    let width = literals.iter().map(String::len).max().unwrap_or_default();
    for (line, literal) in script.iter().zip(literals) {
        writeln!(text, "    {literal:width$} // {line}").expect("a string takes it");
    }
    text
}

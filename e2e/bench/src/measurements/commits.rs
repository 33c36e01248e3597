//! Durable commits by themselves: what their writes cost without a database, a server and a
//! login. SQLite appends the changed pages to its log, and waits for the disk.

use std::os::unix::fs::FileExt as _;

use agent::time::Stopwatch;

use crate::BenchError;
use crate::load::{CPU, WHOLE};
use crate::report::{Results, Row, ms, us};
use crate::servers::broker::FILE;
use crate::servers::cpu_of;
use crate::setup::Setup;

/// The commits of a login now, and of one that needs no more than it must.
const COMMITS: [usize; 2] = [5, 2];

/// A page and its header in SQLite's log.
const FRAME: usize = 24 + 4_096;

/// The frames of a commit (the five of a login change twelve pages), and of a log that is begun
/// anew.
const FRAMES: usize = 2;
const LOG_FRAMES: usize = 1_000;

fn name(commits: usize) -> String {
    format!("{commits} durable commits by themselves")
}

/// Measures so many commits in place of each login, beside the `results` of logins.
pub(super) fn measure(
    setup: &Setup,
    logins: usize,
    results: &mut Results,
) -> Result<Vec<Row>, BenchError> {
    let log = std::fs::File::create(setup.folder.path().join("commits"))?;
    let commit = vec![0xA5; FRAMES * FRAME];
    for commits in (0..setup.size.rounds).flat_map(|_| COMMITS) {
        let (before, watch) = (cpu_of(std::process::id())?, Stopwatch::start());
        for number in 0..logins * commits {
            let at = number * FRAMES % LOG_FRAMES * FRAME;
            log.write_all_at(&commit, at as u64)?;
            log.sync_all()?;
        }
        let cpu = cpu_of(std::process::id())?.saturating_sub(before);
        results.add(&name(commits), CPU, us(cpu) / logins as f64);
        results.add(&name(commits), WHOLE, ms(watch.elapsed()) / logins as f64);
    }
    let rows = COMMITS.map(name).into_iter().flat_map(|name| {
        [CPU, WHOLE].map(|figure| results.row("1 at once, ", &name, figure, FILE))
    });
    Ok(rows.collect())
}

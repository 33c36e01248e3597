//! The published matrix, which is made of the table of faults: each with the checks that it fails.

use std::fmt::Write as _;
use std::fs;

use examiner::fault::Fault;

use crate::consumer::top;
use crate::setting;

/// Compares `e2e/consumers/MATRIX.md` with the table, or writes it if `PUBLISH_MATRIX` is
/// set.
pub(crate) fn compare_or_publish(faults: &[Fault]) {
    let path = top().join("e2e/consumers/MATRIX.md");
    let matrix = matrix(faults);
    if setting("PUBLISH_MATRIX").is_some() {
        fs::write(&path, matrix).expect("the matrix can be written");
        return;
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == matrix,
        "the matrix is old: `just examiner-matrix` writes it"
    );
}

fn matrix(faults: &[Fault]) -> String {
    let checks = examiner::catalogue::checks();
    let mut text = format!(
        "# Faults and the checks that find them\n\n\
         {} faults, each a change of a few lines in a good consumer, and the {} checks of the\n\
         examiner. `just test-examiner` proves the table: each fault fails exactly the checks\n\
         named here, and the good consumers fail none.\n\n\
         | fault | consumer | broken how | fails |\n|---|---|---|---|\n",
        faults.len(),
        checks.len(),
    );
    for fault in faults {
        let (id, consumer, says) = (&fault.id, &fault.consumer, &fault.says);
        let fails = fault.fails.join("`, `");
        let _ = writeln!(text, "| {id} | {consumer} | {says} | `{fails}` |");
    }
    text.push_str("\n| check | severity | broken by |\n|---|---|---|\n");
    for check in checks {
        let (id, severity) = (&check.id, &check.severity);
        let by = faults.iter().filter(|fault| fault.fails.contains(id));
        let by: Vec<_> = by.map(|fault| fault.id.as_str()).collect();
        let _ = writeln!(text, "| `{id}` | {severity} | {} |", by.join(", "));
    }
    text
}

//! The texts of the course on a terminal.

use std::io::{self, Write as _};
use std::time::Duration;

use stack::practice::{Practice, PracticeStatus};

use super::exercise::{Exercise, Question};
use super::judge::Judged;
use crate::Report;
use crate::report::item;
use crate::transcript::printable;
use crate::verdict::Verdict;

/// The keys, each followed by Enter.
pub(super) const KEYS: &str =
    "h hint   d diagram   o open the app   r start over   l list   s solution   n next   q quit";

/// A line for the learner; a closed terminal is no error.
pub(super) fn say(line: impl AsRef<str>) {
    let _ = writeln!(io::stdout(), "{}", line.as_ref());
}

/// Says a text behind its label.
pub(super) fn say_of(label: &str, text: &str) {
    let lines: Vec<_> = text.lines().map(printable).collect();
    say(item(format!("  {label:<15} "), lines.join(" ")));
}

/// The number of an exercise; the last one is none of the twelve.
fn number(place: usize) -> String {
    match place + 1 == Exercise::all().len() {
        true => "\u{2605}".to_owned(),
        false => (place + 1).to_string(),
    }
}

/// The heading of an exercise, with a bar of what is solved.
pub(super) fn heading(place: usize, exercise: &Exercise, practice: &Practice) {
    let (solved, all) = (practice.solved(), Exercise::all().len());
    let bar = format!(
        "{}{}",
        "\u{25b0}".repeat(solved),
        "\u{25b1}".repeat(all - solved)
    );
    say(format!(
        "\n {:>2}/{}  {:<40} {bar}",
        number(place),
        all - 1,
        exercise.title
    ));
    say("\u{2500}".repeat(78));
    say(&exercise.goal);
}

/// Every exercise with its mark.
pub(super) fn list(practice: &Practice, current: usize) {
    let mut group = "";
    for (place, it) in practice.exercises.iter().enumerate() {
        if it.group != group {
            group = &it.group;
            say(format!("\n {group}"));
        }
        let (mark, word) = it.status.shown();
        let here = if place == current { ">" } else { " " };
        let word = match it.status {
            PracticeStatus::Open => String::new(),
            _ => format!(
                "{word}, {} tries, {} min",
                it.tries,
                it.seconds.div_ceil(60)
            ),
        };
        say(format!(
            " {here} {mark} {:>2}  {:<28} {word}",
            place + 1,
            it.title
        ));
    }
    say("\nA number opens that exercise.");
}

/// The verdict, with what each check saw.
pub(super) fn verdict(judged: &Judged, says: &str) {
    let mark = if judged.is_green() {
        "\u{2713}"
    } else {
        "\u{2717}"
    };
    let seconds = Duration::from_millis(judged.took_ms).as_secs_f64();
    let report = &judged.report;
    say(format!(" {mark} {seconds:.1} s  {says}{}", grade(report)));
    for finding in report.findings() {
        say_of("what happened", &finding.actual);
    }
    for result in report.with(Verdict::NotTested) {
        say_of("not tested", &result.actual);
    }
}

/// The grade, if it is known: that of an app with one fault is not looked for.
fn grade(report: &Report) -> String {
    let grade = report.shown_grade();
    grade.map_or_else(String::new, |it| format!(" Grade {it}."))
}

/// Every check passes that was tried.
pub(super) fn nothing_broke(report: &Report) {
    let passed = report.count(Verdict::Pass);
    say(format!(
        " \u{2713} Nothing else broke: {passed} checks pass.{}",
        grade(report)
    ));
}

/// The app could not be judged at all.
pub(super) fn not_started(error: &str) {
    say(" \u{2717} The app cannot be judged.");
    say_of("what happened", error);
    say_of(
        "the way on",
        "Mend that and save again; r starts over, and keeps your version.",
    );
}

/// The question after the mend.
pub(super) fn question(question: &Question) {
    say(format!("\n One question: {}", question.ask));
    for (number, choice) in (1..).zip(&question.choices) {
        say(format!("   {number}  {choice}"));
    }
}

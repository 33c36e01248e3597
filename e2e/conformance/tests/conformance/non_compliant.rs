//! Brokers that are non-compliant in one way each: the requirement that they break is
//! not met, and a reader has approved what a report says of them.

use std::fmt::Write as _;

use conformance::{ConformanceReport, Law, Requirement, Verdict};
use rocket::futures::StreamExt as _;
use rocket::futures::stream;

use super::flaws::flaw_of;
use super::snapshots;
use super::test_broker::{OTHER_SECRET, SECRET, TestBroker};

/// The number of brokers that are tested at once: about one per processor.
const IN_FLIGHT: usize = 4;

// Threats: CVE-2021-21411, L9.
#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_breaks_a_requirement_fails_it_for_the_right_reason_and_nothing_else() {
    let reports: Vec<_> = stream::iter(Requirement::ALL)
        .map(async |requirement| {
            let (words, flaw) = flaw_of(*requirement);
            (
                *requirement,
                words,
                report_of(*requirement, TestBroker::with(flaw).await).await,
            )
        })
        .buffered(IN_FLIGHT)
        .collect()
        .await;
    let mut unbroken = Vec::new();
    let mut approved = String::new();
    for (requirement, words, report) in &reports {
        if !is_broken(*requirement, report) {
            unbroken.push(requirement.id());
        }
        assert_shows_no_secret(report);
        let _ = writeln!(approved, "# A broker that {words}");
        describe(&mut approved, *requirement, report);
    }
    assert_eq!(
        unbroken,
        Vec::<&str>::new(),
        "not broken by their flaws:\n{approved}"
    );
    snapshots().bind(|| insta::assert_snapshot!("flaws", approved));
}

/// Plays the scenarios that cover a requirement; all of them where these do not show the
/// flaw, since it takes two.
async fn report_of(requirement: Requirement, broker: TestBroker) -> ConformanceReport {
    let report = broker.run_some(&[requirement]).await;
    if is_broken(requirement, &report) {
        report
    } else {
        broker.run().await
    }
}

fn is_broken(requirement: Requirement, report: &ConformanceReport) -> bool {
    let verdict = match requirement.law() {
        Law::Spec(_) => Verdict::Fail,
        Law::KitChoice => Verdict::Unspecified,
    };
    let mut results = report.results.iter();
    results.any(|it| it.requirement == requirement && it.verdict == verdict)
}

/// Writes the conclusion, the broken requirement with its evidence, and the other
/// verdicts of the scenarios that were played, if they are no pass.
fn describe(text: &mut String, broken: Requirement, report: &ConformanceReport) {
    let _ = writeln!(text, "is {:?}", report.conclusion());
    let mut skipped = Vec::new();
    for it in &report.results {
        let (id, label, reason) = (it.requirement.id(), it.verdict.label(), &it.reason);
        match (it.verdict, &it.evidence) {
            (Verdict::Pass, _) => {}
            (Verdict::Skipped, _) if reason == "no scenario got there" => {}
            (Verdict::Skipped, _) => skipped.push(id),
            (_, Some(evidence)) if it.requirement == broken => {
                let _ = writeln!(text, "{label} {id}: {reason}");
                let _ = writeln!(text, "  {}\n  -> {}", evidence.sent, evidence.received);
            }
            _ => {
                let _ = writeln!(text, "also {label} {id}: {reason}");
            }
        }
    }
    if !skipped.is_empty() {
        let _ = writeln!(text, "SKIPPED {}", skipped.join(" "));
    }
    text.push('\n');
}

/// Neither a secret nor who signed in is in any form of the report.
fn assert_shows_no_secret(report: &ConformanceReport) {
    for text in [report.table(), report.json(), report.junit()] {
        for secret in [SECRET, OTHER_SECRET, "conformance@app.example"] {
            assert!(!text.contains(secret), "{text}");
        }
        let is_of_a_secret = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
        let mut words = text.split(|it| !is_of_a_secret(it));
        let is_random =
            |word: &&str| word.len() >= 43 && word.chars().any(|it| !word.starts_with(it));
        assert_eq!(words.find(is_random), None, "{text}");
    }
}

//! Brokers that are non-compliant in one way each: the requirement that they break is
//! not met, and a reader has approved what a report says of them.

use std::fmt::Write as _;

use conformance::{ConformanceReport, Law, Requirement};
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
        .map(|requirement| async {
            let (words, flaw) = flaw_of(*requirement);
            let report = TestBroker::with(flaw).await.run().await;
            (*requirement, words, report)
        })
        .buffered(IN_FLIGHT)
        .collect()
        .await;
    let mut unbroken = Vec::new();
    let mut approved = String::new();
    for (requirement, words, report) in &reports {
        let label = match requirement.law() {
            Law::Spec(_) => "FAIL",
            Law::KitChoice => "UNSPECIFIED",
        };
        let mut results = report.results.iter();
        if !results.any(|it| it.requirement == *requirement && it.verdict.label() == label) {
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

/// Writes the conclusion, the broken requirement with its evidence, and the other
/// verdicts that are no pass.
fn describe(text: &mut String, broken: Requirement, report: &ConformanceReport) {
    let _ = writeln!(text, "is {:?}", report.conclusion());
    let mut skipped = Vec::new();
    for it in &report.results {
        let (id, label) = (it.requirement.id(), it.verdict.label());
        match (label, &it.evidence) {
            ("PASS", _) => {}
            ("SKIPPED", _) => skipped.push(id),
            (_, Some(evidence)) if it.requirement == broken => {
                let _ = writeln!(text, "{label} {id}: {}", it.verdict.reason());
                let _ = writeln!(text, "  {}\n  -> {}", evidence.sent, evidence.received);
            }
            _ => {
                let _ = writeln!(text, "also {label} {id}: {}", it.verdict.reason());
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

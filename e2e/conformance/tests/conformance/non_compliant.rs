//! Brokers that are non-compliant in one way each: the requirement that they break
//! fails, for the right reason, and every other verdict is the compliant broker's.
//!
//! A non-compliant broker reacts to what its flaw is about, never to a value that only
//! the runner sends.

mod answers;
mod bearers;
mod callbacks;
mod clients;
mod codes;
mod deliveries;
mod profiles;
mod reads;
mod requests;
mod results;
mod sessions;
mod times;
mod tokens;

use std::collections::BTreeMap;

use conformance::{ConformanceReport, Law, Requirement};
use rocket::futures::StreamExt as _;
use rocket::futures::stream;

use super::proxy::{ChangeRequest, ChangeResponse, Memory, ProxiedRequest, ProxiedResponse};
use super::test_broker::TestBroker;

/// A deviation that a report shows: the requirement, the reason of its verdict, and a
/// part of the exchange behind it.
type Deviation = (&'static str, &'static str, &'static str);

/// A broker that is non-compliant in one way.
pub(crate) struct NonCompliantBroker {
    flaw: &'static str,
    /// The requirements that FAIL.
    breaks: &'static [Deviation],
    /// The requirements that become UNSPECIFIED.
    chooses: &'static [Deviation],
    /// The requirements that cannot be tested any more: SKIPPED.
    blocks: &'static [&'static str],
    before: ChangeRequest,
    after: ChangeResponse,
}

const fn unchanged_request(_: &mut Memory, _: &mut ProxiedRequest) -> Option<ProxiedResponse> {
    None
}

const fn unchanged_response(_: &mut Memory, _: &ProxiedRequest, _: &mut ProxiedResponse) {}

/// Changes no request.
pub(crate) const UNCHANGED_REQUEST: ChangeRequest = unchanged_request;
/// Changes no response.
pub(crate) const UNCHANGED_RESPONSE: ChangeResponse = unchanged_response;

impl NonCompliantBroker {
    /// A broker that accepts what it must refuse, or responds by itself.
    const fn accepts(
        flaw: &'static str,
        breaks: &'static [Deviation],
        before: ChangeRequest,
    ) -> Self {
        Self::changes(flaw, breaks, before, UNCHANGED_RESPONSE)
    }

    /// A broker that responds what it must not.
    const fn responds(
        flaw: &'static str,
        breaks: &'static [Deviation],
        after: ChangeResponse,
    ) -> Self {
        Self::changes(flaw, breaks, UNCHANGED_REQUEST, after)
    }

    /// A broker that does both.
    const fn changes(
        flaw: &'static str,
        breaks: &'static [Deviation],
        before: ChangeRequest,
        after: ChangeResponse,
    ) -> Self {
        Self {
            flaw,
            breaks,
            chooses: &[],
            blocks: &[],
            before,
            after,
        }
    }

    const fn blocking(self, blocks: &'static [&'static str]) -> Self {
        Self { blocks, ..self }
    }

    const fn and_chooses(self, chooses: &'static [Deviation]) -> Self {
        Self { chooses, ..self }
    }

    /// The verdicts on it, given those on the compliant broker.
    fn expected(&self, compliant: &Verdicts) -> Verdicts {
        let mut expected = compliant.clone();
        for (id, ..) in self.breaks {
            let known = expected.insert(id, "FAIL");
            assert!(known.is_some(), "{}: no requirement {id}", self.flaw);
        }
        for (id, ..) in self.chooses {
            expected.insert(id, "UNSPECIFIED");
        }
        for id in self.blocks {
            expected.insert(id, "SKIPPED");
        }
        expected
    }

    /// Tests it, and describes the differences from what its report must show.
    async fn differences(&self, compliant: &Verdicts) -> Option<String> {
        let broker = TestBroker::behind_proxy(self.before, self.after).await;
        let report = broker.run().await;
        let mut differences = differences(&self.expected(compliant), &report);
        let deviations = self.breaks.iter().chain(self.chooses);
        differences.extend(deviations.filter_map(|it| unlike(it, &report)));
        (!differences.is_empty()).then(|| format!("{}:\n{}", self.flaw, differences.join("\n")))
    }
}

/// The label of each requirement's verdict.
pub(crate) type Verdicts = BTreeMap<&'static str, &'static str>;

pub(crate) fn verdicts(report: &ConformanceReport) -> Verdicts {
    let results = report.results.iter();
    results
        .map(|it| (it.requirement.id(), it.verdict.label()))
        .collect()
}

/// The verdicts that are not the expected ones, a line each.
fn differences(expected: &Verdicts, report: &ConformanceReport) -> Vec<String> {
    let results = report.results.iter();
    results
        .filter(|it| expected[it.requirement.id()] != it.verdict.label())
        .map(|it| {
            format!(
                "  {}: {} instead of {} ({}) {:?}",
                it.requirement.id(),
                it.verdict.label(),
                expected[it.requirement.id()],
                it.verdict.reason(),
                it.evidence,
            )
        })
        .collect()
}

/// The difference between the report and the reason and exchange of a deviation.
fn unlike(&(id, reason, part): &Deviation, report: &ConformanceReport) -> Option<String> {
    let result = report.results.iter().find(|it| it.requirement.id() == id)?;
    let evidence = result.evidence.clone().unwrap_or_default();
    let exchange = format!("{} -> {}", evidence.sent, evidence.received);
    let is_alike = result.verdict.reason() == reason && exchange.contains(part);
    (!is_alike).then(|| {
        let found = result.verdict.reason();
        format!("  {id}: {found:?} by {exchange:?} instead of {reason:?} by {part:?}")
    })
}

fn all() -> Vec<NonCompliantBroker> {
    let kinds = [
        requests::all(),
        callbacks::all(),
        clients::all(),
        sessions::all(),
        answers::all(),
        reads::all(),
        results::all(),
        profiles::all(),
        codes::all(),
        tokens::all(),
        bearers::all(),
        times::all(),
        deliveries::all(),
    ];
    kinds.into_iter().flatten().collect()
}

/// The number of brokers that are tested at once: about one per processor.
const IN_FLIGHT: usize = 4;

// Threats: L9.
#[tokio::test(flavor = "multi_thread")]
async fn each_non_compliant_broker_fails_what_it_breaks_for_the_right_reason_and_nothing_else() {
    let compliant = TestBroker::behind_proxy(UNCHANGED_REQUEST, UNCHANGED_RESPONSE).await;
    let compliant = verdicts(&compliant.run().await);
    let all = all();
    let differences: Vec<String> = stream::iter(&all)
        .map(|broker| broker.differences(&compliant))
        .buffer_unordered(IN_FLIGHT)
        .filter_map(|differences| async { differences })
        .collect()
        .await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

// Threats: CVE-2021-21411.
#[test]
fn every_requirement_of_the_specification_is_broken_by_some_broker() {
    let all = all();
    let broken: Vec<_> = all
        .iter()
        .flat_map(|it| it.breaks)
        .map(|(id, ..)| *id)
        .collect();
    let unbroken: Vec<_> = Requirement::ALL
        .iter()
        .filter(|it| matches!(it.law(), Law::Spec(_)))
        .map(|it| it.id())
        .filter(|id| !broken.contains(id))
        .collect();
    assert_eq!(unbroken, Vec::<&str>::new());
}

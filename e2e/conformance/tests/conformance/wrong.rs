//! Brokers that are wrong in one way each: the requirement that says so fails, and
//! every other verdict is the right broker's.

mod answers;
mod bearers;
mod profiles;
mod results;
mod sessions;
mod times;
mod tokens;

use std::collections::BTreeMap;

use conformance::Report;
use rocket::futures::StreamExt as _;
use rocket::futures::stream;

use super::ground::Ground;
use super::proxy::{After, Answered, Asked, Before, Memory};

/// A broker that is wrong in one way.
pub(crate) struct Wrong {
    /// What it does.
    pub(crate) does: &'static str,
    /// The requirements that it breaks.
    breaks: &'static [&'static str],
    /// What cannot be tried any more then.
    blocks: &'static [&'static str],
    /// What it then seems to have chosen otherwise.
    chooses: &'static [&'static str],
    pub(crate) before: Before,
    pub(crate) after: After,
}

const fn nothing_before(_: &mut Memory, _: &mut Asked) -> Option<Answered> {
    None
}

const fn nothing_after(_: &mut Memory, _: &Asked, _: &mut Answered) {}

/// Bends no request.
pub(crate) const AS_IT_IS: Before = nothing_before;
/// Bends no answer.
pub(crate) const AS_IT_COMES: After = nothing_after;

impl Wrong {
    /// It takes what it should not, or answers by itself.
    const fn takes(does: &'static str, breaks: &'static [&'static str], before: Before) -> Self {
        Self {
            does,
            breaks,
            blocks: &[],
            chooses: &[],
            before,
            after: AS_IT_COMES,
        }
    }

    /// It says what it should not.
    const fn says(does: &'static str, breaks: &'static [&'static str], after: After) -> Self {
        Self {
            before: AS_IT_IS,
            after,
            ..Self::takes(does, breaks, AS_IT_IS)
        }
    }

    /// Both.
    const fn both(
        does: &'static str,
        breaks: &'static [&'static str],
        before: Before,
        after: After,
    ) -> Self {
        Self {
            after,
            ..Self::takes(does, breaks, before)
        }
    }

    const fn blocking(self, blocks: &'static [&'static str]) -> Self {
        Self { blocks, ..self }
    }

    const fn and_chooses(self, chooses: &'static [&'static str]) -> Self {
        Self { chooses, ..self }
    }

    /// What its report should be, where the right broker's is `right`.
    fn expected(&self, right: &Verdicts) -> Verdicts {
        let mut expected = right.clone();
        for id in self.breaks {
            let known = expected.insert(id, "FAIL");
            assert!(known.is_some(), "{}: no requirement {id}", self.does);
        }
        for id in self.blocks {
            expected.insert(id, "SKIPPED");
        }
        for id in self.chooses {
            expected.insert(id, "UNSPECIFIED");
        }
        expected
    }
}

/// A verdict's word for each requirement.
pub(crate) type Verdicts = BTreeMap<&'static str, &'static str>;

pub(crate) fn verdicts(report: &Report) -> Verdicts {
    let of_it = report.findings.iter();
    of_it
        .map(|it| (it.requirement.id(), it.verdict.word()))
        .collect()
}

/// What is not as it should be, a line each.
pub(crate) fn differences(expected: &Verdicts, report: &Report) -> Vec<String> {
    let found = report.findings.iter();
    found
        .filter(|it| expected[it.requirement.id()] != it.verdict.word())
        .map(|it| {
            format!(
                "  {}: {} instead of {} ({}) {:?}",
                it.requirement.id(),
                it.verdict.word(),
                expected[it.requirement.id()],
                it.verdict.why(),
                it.evidence,
            )
        })
        .collect()
}

/// All of them.
fn all() -> Vec<Wrong> {
    let kinds = [
        sessions::all(),
        answers::all(),
        results::all(),
        profiles::all(),
        tokens::all(),
        bearers::all(),
        times::all(),
    ];
    kinds.into_iter().flatten().collect()
}

/// So many brokers at once: there are as many processors as that, about.
const AT_ONCE: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_broker_fails_what_it_breaks_and_nothing_else() {
    let right = Ground::bent(AS_IT_IS, AS_IT_COMES).await.judge().await;
    let right = verdicts(&right);
    let all = all();
    let complaints: Vec<String> = stream::iter(&all)
        .map(|wrong| complaint(wrong, &right))
        .buffer_unordered(AT_ONCE)
        .filter_map(|complaint| async { complaint })
        .collect()
        .await;
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

async fn complaint(wrong: &Wrong, right: &Verdicts) -> Option<String> {
    let report = Ground::bent(wrong.before, wrong.after).await.judge().await;
    let differences = differences(&wrong.expected(right), &report);
    (!differences.is_empty()).then(|| format!("{}:\n{}", wrong.does, differences.join("\n")))
}

#[test]
fn every_requirement_of_the_specification_is_broken_by_some_broker() {
    let all = all();
    let broken: Vec<_> = all.iter().flat_map(|it| it.breaks).collect();
    let unbroken: Vec<_> = conformance::Requirement::ALL
        .iter()
        .filter(|it| matches!(it.law(), conformance::Law::Spec(_)))
        .map(|it| it.id())
        .filter(|id| !broken.contains(&id))
        .collect();
    assert_eq!(unbroken, Vec::<&str>::new());
}

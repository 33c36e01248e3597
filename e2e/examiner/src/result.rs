//! The result of a check, and the grade that all results have: by the attacks that are
//! open, never by points.

use strum::{Display, IntoStaticStr};

use crate::app::Flow;
use crate::catalogue::{Check, Effect, Severity};
use crate::transcript::TranscriptLine;
use crate::verdict::{Outcome, Stop, Verdict};

/// The observation of a check that passes.
const AS_EXPECTED: &str = "As expected.";

/// The result of one check.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// The check.
    pub check: &'static Check,
    /// The verdict; of two flows, the more severe one.
    pub verdict: Verdict,
    /// The observation.
    pub actual: String,
    /// The flow in which it was made, if the app has both.
    pub flow: Option<Flow>,
    /// Whether an attacker was seen in another person's account.
    pub is_takeover: bool,
    /// Whether an error of the server hides the rest of what the check looks for.
    pub is_server_error: bool,
    /// Whether the app had ended, which hides everything else.
    pub is_end_of_app: bool,
    /// The exchanges of that trial.
    pub evidence: Vec<TranscriptLine>,
}

impl CheckResult {
    /// Whether a part of a check that passes was not tried.
    pub(crate) fn is_partial(&self) -> bool {
        self.verdict == Verdict::Pass && self.actual != AS_EXPECTED
    }

    /// The harm that the failure does, as far as it was seen.
    pub fn consequence(&self) -> String {
        let worst = &self.check.consequence;
        if self.is_end_of_app {
            return "An app that ends signs no user in, and nothing more is known about it: mend that first, and examine again.".to_owned();
        }
        if self.is_server_error {
            return format!(
                "The app answers with an error of its own, which hides what would have happened: mend that error first, and examine again. In the worst case: {worst}"
            );
        }
        worst.clone()
    }

    pub(crate) fn new(
        check: &'static Check,
        outcome: Outcome,
        flow: Option<Flow>,
        evidence: Vec<TranscriptLine>,
    ) -> Self {
        let stop = outcome.err();
        let is = |flag: fn(&Stop) -> bool| stop.as_ref().is_some_and(flag);
        Self {
            check,
            is_takeover: is(|stop| stop.is_takeover),
            is_server_error: is(|stop| stop.is_server_error),
            is_end_of_app: false,
            verdict: stop.as_ref().map_or(Verdict::Pass, |stop| stop.verdict),
            actual: stop.map_or(AS_EXPECTED.to_owned(), |stop| sentence(&stop.actual)),
            flow,
            evidence,
        }
    }

    /// This result, unless the app has ended: what it would have done is not known then.
    pub(crate) fn or_end_of_app(mut self, end: Option<String>) -> Self {
        if let Some(end) = end.filter(|_| !self.is_takeover) {
            let stop = Stop::not_testable(end);
            (self.verdict, self.actual) = (stop.verdict, sentence(&stop.actual));
            self.is_end_of_app = true;
        }
        self
    }

    /// The thing to mend, in one sentence.
    pub fn to_mend(&self) -> String {
        match self.is_end_of_app {
            true => self.actual.clone(),
            false => format!("{}.", self.check.title),
        }
    }
}

/// The text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    let has_end = text.ends_with(['.', '!', '?']);
    let end = if has_end { "" } else { "." };
    format!("{}{rest}{end}", first.to_uppercase())
}

/// The grade of an app, the worst one first. It is decided by what a stranger gains:
///
/// - with nothing but a page, a link or an address of their own, an account, a session, a secret
///   of the app, or an act in a user's name: [`Grade::C`], and [`Grade::F`] if that was seen;
/// - the same, but only with more in their hands (a log, an answer of the broker, a sister host);
///   or nothing, while a user is signed in or out who did not want it: [`Grade::B`];
/// - nothing at all, while users suffer: [`Grade::B`] where the specification protects them,
///   [`Grade::A`] elsewhere, and where only a further layer of defence is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, IntoStaticStr)]
pub enum Grade {
    /// An account was taken over, and the report shows it.
    F,
    /// An attack is open, or could not be ruled out.
    C,
    /// An attack needs a second weakness, or does harm without a gain; or users suffer where the
    /// specification protects them.
    B,
    /// No attack is open; something that is good practice is missing.
    A,
    /// Everything passes.
    #[strum(serialize = "A+")]
    APlus,
}

impl Grade {
    /// The grade of these results, which is that of the worst one.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CheckResult>) -> Option<Self> {
        results.into_iter().map(Self::of_one).min()
    }

    fn of_one(result: &CheckResult) -> Self {
        let check = result.check;
        match result.verdict {
            Verdict::Pass | Verdict::NotApplicable => Self::APlus,
            // Nothing is known against the app, and nothing for it.
            Verdict::NotTested | Verdict::Harness => Self::A,
            Verdict::Fail if result.is_takeover => Self::F,
            // Nothing is known: it may be as bad as that.
            Verdict::Fail | Verdict::NotTestable => match (check.if_broken, check.severity) {
                (Effect::Attack, _) => Self::C,
                (Effect::SecondWeakness, _) | (Effect::Fault, Severity::Must) => Self::B,
                (Effect::Fault, Severity::Should | Severity::Advice) => Self::A,
            },
        }
    }

    /// The meaning of the grade, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::APlus => "Everything passes.",
            Self::A => "No attack is open; good practice is missing in places.",
            Self::B => {
                "An attack needs a second weakness or only does harm, or users suffer where the specification protects them."
            }
            Self::C => "An attack is open, or could not be ruled out.",
            Self::F => "An account was taken over; the evidence shows how.",
        }
    }

    /// Whether the grade is good enough for an exit status of 0.
    pub fn is_good(self) -> bool {
        self >= Self::A
    }
}

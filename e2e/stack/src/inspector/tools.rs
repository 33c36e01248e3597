//! The tools of a page: the clock, the misbehaviours of the providers, and the faults.

use mock_upstream::{Misbehaviour, Next, Provider, Queued};

use crate::faults::{ArmedFault, Fault};
use crate::labels;
use crate::operation::BrokerOperation;
use crate::runtime::StackRuntime;
use crate::time::StackClock;

/// The state of the tools, and the options of their forms.
pub(crate) struct Tools {
    pub(crate) clock: ClockView,
    /// The names of the misbehaviours, each with its description.
    pub(crate) misbehaviours: Vec<(&'static str, String)>,
    /// The planned sign-ins, each with its provider.
    pub(crate) queued: Vec<(Provider, Queued)>,
    pub(crate) operations: Vec<BrokerOperation>,
    pub(crate) faults: &'static [Fault],
    pub(crate) armed: Vec<ArmedFault>,
}

/// The time of the stack as texts.
pub(crate) struct ClockView {
    pub(crate) now_ms: i64,
    pub(crate) date: String,
    pub(crate) time: String,
    pub(crate) advanced: String,
    pub(crate) is_advanced: bool,
}

impl Tools {
    pub(crate) fn new(runtime: &StackRuntime) -> Self {
        let providers = Provider::ALL.into_iter();
        let queued = providers.flat_map(|provider| {
            let queued = runtime.upstream.provider(provider).queued();
            queued.into_iter().map(move |next| (provider, next))
        });
        Self {
            clock: ClockView::new(&runtime.clock),
            queued: queued.collect(),
            misbehaviours: misbehaviours(),
            operations: BrokerOperation::all().collect(),
            faults: Fault::ALL,
            armed: runtime.faults().armed(),
        }
    }

    /// A planned sign-in in a few words: its misbehaviour, or its user.
    pub(crate) fn what(next: &Next) -> &'static str {
        match next {
            Next::User(_) => "a user, without a page",
            Next::Misbehave(misbehaviour) => misbehaviour.name(),
        }
    }
}

impl ClockView {
    fn new(clock: &StackClock) -> Self {
        let (now_ms, advanced_ms) = (clock.now_ms(), clock.advanced_ms());
        Self {
            now_ms,
            date: labels::date(now_ms),
            time: labels::time_of_day(now_ms),
            advanced: labels::duration(advanced_ms),
            is_advanced: advanced_ms != 0,
        }
    }
}

/// Every misbehaviour once, in the order of the table; with its provider, if only one has
/// it.
fn misbehaviours() -> Vec<(&'static str, String)> {
    let mut all: Vec<Misbehaviour> = Vec::new();
    for provider in Provider::ALL {
        let known = Misbehaviour::of(provider).iter();
        all.extend(known.filter(|it| !all.contains(it)).collect::<Vec<_>>());
    }
    let described = |it: Misbehaviour| {
        let at = |provider| Some(it.description(provider)).filter(|text| !text.is_empty());
        let description = match (at(Provider::Google), at(Provider::GitHub)) {
            (Some(google), Some(_)) => google.to_owned(),
            (Some(google), None) => format!("Google only. {google}"),
            (None, github) => format!("GitHub only. {}", github.unwrap_or_default()),
        };
        (it.name(), description)
    };
    all.into_iter().map(described).collect()
}

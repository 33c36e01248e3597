//! The tools of a page: the clock, the misbehaviours of the providers, and the faults.

use mock_upstream::misbehaviour::Group;
use mock_upstream::{Misbehaviour, Next, Provider, Queued, Upstream};

use super::labels;
use crate::faults::{ArmedFault, Fault};
use crate::operation::BrokerOperation;
use crate::runtime::StackRuntime;
use crate::time::StackClock;

/// The state of the tools, and the options of their forms.
pub(crate) struct Tools {
    pub(crate) clock: ClockView,
    pub(crate) providers: Vec<ProviderMisbehaviours>,
    pub(crate) queued: Vec<QueuedSignIn>,
    pub(crate) operations: Vec<BrokerOperation>,
    pub(crate) faults: &'static [Fault],
    pub(crate) armed: Vec<ArmedFault>,
}

/// A queued sign-in: the provider, a misbehaviour or a user, and the only project that it
/// is for.
pub(crate) struct QueuedSignIn {
    pub(crate) provider: &'static str,
    pub(crate) what: &'static str,
    pub(crate) client_id: Option<String>,
}

/// The time of the stack as texts.
pub(crate) struct ClockView {
    pub(crate) now_ms: i64,
    pub(crate) date: String,
    pub(crate) time: String,
    pub(crate) advanced: String,
    pub(crate) is_advanced: bool,
}

/// The misbehaviours of a provider, with their descriptions, by group.
pub(crate) struct ProviderMisbehaviours {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) groups: Vec<(&'static str, Vec<(&'static str, &'static str)>)>,
}

impl Tools {
    pub(crate) fn new(runtime: &StackRuntime) -> Self {
        let providers = Provider::ALL.into_iter();
        let queued = providers
            .clone()
            .flat_map(|provider| queued(runtime.upstream.provider(provider)));
        Self {
            clock: ClockView::new(&runtime.clock),
            queued: queued.collect(),
            providers: providers.map(ProviderMisbehaviours::of).collect(),
            operations: BrokerOperation::all().collect(),
            faults: Fault::ALL,
            armed: runtime.faults().armed(),
        }
    }
}

fn queued(upstream: &Upstream) -> Vec<QueuedSignIn> {
    let provider = labels::provider(Some(upstream.provider().name()));
    let shown = |Queued { next, label, .. }| QueuedSignIn {
        provider,
        what: match next {
            Next::User(_) => "a user, without a page",
            Next::Misbehave(misbehaviour) => misbehaviour.name(),
        },
        client_id: label,
    };
    upstream.queued().into_iter().map(shown).collect()
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

impl ProviderMisbehaviours {
    fn of(provider: Provider) -> Self {
        let known = Misbehaviour::of(provider);
        let of_group = |group: &Group| {
            let its = known.iter().filter(|it| it.group() == *group);
            its.map(|it| (it.name(), it.description(provider)))
                .collect()
        };
        let groups = Group::ALL.iter().map(|it| (it.title(), of_group(it)));
        Self {
            id: provider.name(),
            name: labels::provider(Some(provider.name())),
            groups: groups
                .filter(|(_, its): &(_, Vec<_>)| !its.is_empty())
                .collect(),
        }
    }
}

//! The labels of the metrics. Each has a fixed set of values, and none that a client
//! sent.

use prometheus_client::encoding::EncodeLabelSet;

/// A login that ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Login {
    pub(super) provider: &'static str,
    pub(super) outcome: &'static str,
}

/// A step that was committed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CommittedStep {
    pub(super) step: &'static str,
}

/// A request that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Refusal {
    pub(super) rule: &'static str,
}

/// A browser that came to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Visit {
    pub(super) provenance: &'static str,
}

/// A request that was answered, by its route, never by its path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Request {
    pub(super) operation: String,
    pub(super) status: u16,
}

/// A finished call to a provider, by its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CallOutcome {
    pub(super) provider: &'static str,
    pub(super) operation: String,
    pub(super) outcome: &'static str,
}

/// A finished call to a provider, whatever its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CallOperation {
    pub(super) provider: &'static str,
    pub(super) operation: String,
}

/// A step of the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct StoreStep {
    pub(super) step: &'static str,
}

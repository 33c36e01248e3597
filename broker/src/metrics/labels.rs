//! What is counted apart from what. Each label has as many values as the source
//! names, and none that somebody sent.

use prometheus_client::encoding::EncodeLabelSet;

/// A login that ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Login {
    pub(super) provider: &'static str,
    pub(super) outcome: &'static str,
}

/// A step that was committed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Committed {
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

/// A call to a provider, as it ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Call {
    pub(super) provider: &'static str,
    pub(super) operation: String,
    pub(super) outcome: &'static str,
}

/// A call to a provider, however it ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Called {
    pub(super) provider: &'static str,
    pub(super) operation: String,
}

/// A step of the store, done or not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct StoreStep {
    pub(super) step: &'static str,
}

//! The faults of `e2e/consumers/faults.toml`: small changes that break a good consumer.

use std::sync::LazyLock;

use agent::tree::Edit;
use serde::Deserialize;

use crate::app::Flow;
use crate::catalogue::{self, Check, rows};

static FAULTS: LazyLock<Vec<Fault>> =
    LazyLock::new(|| rows(include_str!("../../consumers/faults.toml")));

/// One fault: a change that breaks a good consumer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The name.
    pub id: String,
    /// The id of the consumer that has it.
    pub consumer: String,
    /// The fault in one sentence.
    pub says: String,
    /// The flow in which it is examined; by default the one that its checks concern.
    flow: Option<Flow>,
    /// Whether only Chromium shows the fault, in a check that also runs without it.
    #[serde(default)]
    pub needs_chromium: bool,
    /// The checks that fail, and no other.
    pub fails: Vec<String>,
    /// But for these, which fail if a timer of the app has it so.
    #[serde(default)]
    pub may_fail: Vec<String>,
    /// The replacements, in files below the consumer's folder.
    pub edit: Vec<Edit>,
}

impl Fault {
    /// Every fault of the table.
    pub fn all() -> &'static [Self] {
        &FAULTS
    }

    /// The fault with this name.
    pub fn named(id: &str) -> Option<&'static Self> {
        FAULTS.iter().find(|fault| fault.id == id)
    }

    /// The checks that fail.
    pub fn checks(&self) -> impl Iterator<Item = &'static Check> {
        let checks = catalogue::checks().iter();
        checks.filter(|check| self.fails.contains(&check.id))
    }

    /// The flow in which the fault shows. Examining one flow costs half of both.
    pub fn flow(&self) -> Flow {
        let is_legacy = self.checks().any(|check| !check.concerns(Flow::Clean));
        let by_checks = if is_legacy { Flow::Legacy } else { Flow::Clean };
        self.flow.unwrap_or(by_checks)
    }
}

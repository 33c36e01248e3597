//! The directory of the sandboxes that run in this process, for the links between the
//! pages of the stack and theirs.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

use serde::{Serialize, Serializer};

/// The id of a sandbox, `s1`; a process never gives one twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SandboxId(pub(crate) u64);

/// A text is not the id of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MalformedSandboxId;

/// The address of a running sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxLink {
    pub(crate) name: String,
    /// The URL of its control address.
    pub(crate) control: String,
}

/// The running sandboxes, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct SandboxDirectory(RwLock<BTreeMap<SandboxId, SandboxLink>>);

/// The place of a sandbox: its name, and the stack that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnSandbox {
    pub(crate) id: SandboxId,
    pub(crate) name: String,
    /// The URL of the stack's control address.
    pub(crate) stack_control: String,
}

impl SandboxDirectory {
    pub(crate) fn list(&self) -> Vec<(SandboxId, SandboxLink)> {
        let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
        entries
            .iter()
            .map(|(id, link)| (*id, link.clone()))
            .collect()
    }

    pub(crate) fn add(&self, id: SandboxId, link: SandboxLink) {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.insert(id, link);
    }

    pub(crate) fn remove(&self, id: SandboxId) {
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        entries.remove(&id);
    }
}

impl fmt::Display for SandboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl FromStr for SandboxId {
    type Err = MalformedSandboxId;

    fn from_str(text: &str) -> Result<Self, MalformedSandboxId> {
        let number = text.strip_prefix('s').and_then(|it| it.parse().ok());
        let id = number.map(Self).ok_or(MalformedSandboxId)?;
        // `s01` and `s+1` are numbers, but no ids.
        match id.to_string() == text {
            true => Ok(id),
            false => Err(MalformedSandboxId),
        }
    }
}

impl Serialize for SandboxId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

//! Fail points: named points around a commit at which a test may stop or delay a
//! broker. In production they do nothing.

use std::sync::Arc;

/// A point that every operation passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailPoint {
    /// A step has read its row and decided; its transaction goes on.
    AfterRead,
    /// Everything is written, nothing is committed.
    BeforeCommit,
    /// The commit is durable, and no caller knows of it yet.
    AfterCommit,
    /// The response is built and has not been sent.
    BeforeAnswer,
}

impl FailPoint {
    /// All fail points, in the order in which an operation passes them.
    pub const ALL: [Self; 4] = [
        Self::AfterRead,
        Self::BeforeCommit,
        Self::AfterCommit,
        Self::BeforeAnswer,
    ];

    /// The name, for a report or a flag.
    pub fn name(self) -> &'static str {
        match self {
            Self::AfterRead => "after_read",
            Self::BeforeCommit => "before_commit",
            Self::AfterCommit => "after_commit",
            Self::BeforeAnswer => "before_answer",
        }
    }
}

/// The callback that runs at each fail point. The operation waits until it returns.
#[derive(Clone, Default)]
pub struct FailPoints(Option<Arc<dyn Fn(FailPoint) + Send + Sync>>);

impl FailPoints {
    /// No callback.
    pub const NONE: Self = Self(None);

    /// Calls `callback` at every point that any operation reaches.
    pub fn new(callback: impl Fn(FailPoint) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    /// Whether there is a callback.
    pub(crate) fn are_set(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn hit(&self, point: FailPoint) {
        if let Some(callback) = &self.0 {
            callback(point);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_point_has_a_name_of_its_own() {
        let names: HashSet<_> = FailPoint::ALL.map(FailPoint::name).into();
        assert_eq!(names.len(), FailPoint::ALL.len());
    }
}

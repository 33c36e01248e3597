//! Points around a commit at which somebody outside may watch a broker, or stop
//! it for good. In production nobody does.

use std::sync::Arc;

/// How far an operation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailPoint {
    /// A step has read its row and decided; its transaction goes on.
    AfterRead,
    /// All is written, nothing is committed.
    BeforeCommit,
    /// The commit stands, and nobody has heard of it.
    AfterCommit,
    /// The answer is made and has not left.
    BeforeAnswer,
}

impl FailPoint {
    /// All of them, in the order in which an operation comes by.
    pub const ALL: [Self; 4] = [
        Self::AfterRead,
        Self::BeforeCommit,
        Self::AfterCommit,
        Self::BeforeAnswer,
    ];

    /// Its name, for a report or a flag.
    pub fn name(self) -> &'static str {
        match self {
            Self::AfterRead => "after_read",
            Self::BeforeCommit => "before_commit",
            Self::AfterCommit => "after_commit",
            Self::BeforeAnswer => "before_answer",
        }
    }
}

/// Whoever watches. What it is told holds the operation up until it returns.
#[derive(Clone, Default)]
pub struct FailPoints(Option<Arc<dyn Fn(FailPoint) + Send + Sync>>);

impl FailPoints {
    /// Nobody.
    pub const NONE: Self = Self(None);

    /// `watch` is told of every point that any operation reaches.
    pub fn new(watch: impl Fn(FailPoint) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(watch)))
    }

    pub(crate) fn reached(&self, point: FailPoint) {
        if let Some(watch) = &self.0 {
            watch(point);
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

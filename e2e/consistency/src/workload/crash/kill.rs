//! The kinds of kills.

use broker::store::fail_points::FailPoint;

use crate::cluster::Engine;

/// One kind of kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kill {
    /// `kill -9` of a broker, whatever it is doing.
    AnyTime,
    /// `kill -9` of a broker that paused at a fail point.
    At(FailPoint),
    /// `kill -9` of the database server and all its children.
    Database,
}

impl Kill {
    pub(super) fn all(engine: Engine) -> impl Iterator<Item = Self> {
        let database = (engine == Engine::Postgres).then_some(Self::Database);
        std::iter::once(Self::AnyTime)
            .chain(FailPoint::ALL.map(Self::At))
            .chain(database)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AnyTime => "any time",
            Self::At(point) => point.name(),
            Self::Database => "database",
        }
    }
}

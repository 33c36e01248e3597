//! How much is measured.

/// The amounts of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// The rounds; in each, every server gets every load.
    pub(crate) rounds: usize,
    /// The logins of a load that takes a second in a release build.
    pub(crate) logins: usize,
    /// The logins after which memory is compared.
    pub(crate) consumed: usize,
    /// The starts of each program.
    pub(crate) starts: usize,
    /// The live sessions beside which logins are compared.
    pub(crate) sessions: usize,
    /// The users who come in a minute to the store.
    pub(crate) users_a_minute: usize,
    /// The minutes for which they come; a row lives for 20.
    pub(crate) minutes: usize,
    /// The hours that a broker lives through, and the logins in each.
    pub(crate) hours: usize,
    pub(crate) logins_an_hour: usize,
    /// The seconds of each load up to the greatest.
    pub(crate) overload_seconds: u32,
}

impl Size {
    /// Tries every measurement.
    pub(crate) const QUICK: Self = Self {
        rounds: 1,
        logins: 64,
        consumed: 640,
        starts: 2,
        sessions: 2_000,
        users_a_minute: 20,
        minutes: 25,
        hours: 24,
        logins_an_hour: 16,
        overload_seconds: 1,
    };

    /// A quarter of an hour.
    pub(crate) const USUAL: Self = Self {
        rounds: 5,
        logins: 1_600,
        consumed: 20_000,
        starts: 20,
        sessions: 100_000,
        users_a_minute: 5_000,
        minutes: 25,
        hours: 30 * 24,
        logins_an_hour: 128,
        overload_seconds: 4,
    };

    /// The published size of what grows.
    pub(crate) const FULL: Self = Self {
        sessions: 1_000_000,
        users_a_minute: 100_000,
        minutes: 60,
        logins_an_hour: 1_000,
        ..Self::USUAL
    };
}

//! The commits of a login, as the broker's audit log has them.

/// A step that is committed to the store and noted in the broker's audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are named as in the audit log")]
pub enum Commit {
    Opened,
    UpstreamLoginConsumed,
    Completed,
    ResultConsumed,
    CodeIssued,
    CodeRedeemed,
}

/// The number of commits of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Commits([u8; 6]);

impl Commit {
    /// All of them, in the order in which logins take them.
    pub const ALL: [Self; 6] = [
        Self::Opened,
        Self::UpstreamLoginConsumed,
        Self::Completed,
        Self::ResultConsumed,
        Self::CodeIssued,
        Self::CodeRedeemed,
    ];

    /// The name in the audit log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::UpstreamLoginConsumed => "upstream_login_consumed",
            Self::Completed => "completed",
            Self::ResultConsumed => "result_consumed",
            Self::CodeIssued => "code_issued",
            Self::CodeRedeemed => "code_redeemed",
        }
    }
}

impl Commits {
    /// The number of commits of one kind.
    pub fn count(&self, commit: Commit) -> u8 {
        self.0[commit as usize]
    }

    /// Counts one more.
    pub fn add(&mut self, commit: Commit) {
        self.0[commit as usize] += 1;
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let mut sum = self;
        for (ours, theirs) in sum.0.iter_mut().zip(other.0) {
            *ours += theirs;
        }
        sum
    }

    /// The commits since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let mut difference = self;
        for (ours, theirs) in difference.0.iter_mut().zip(earlier.0) {
            *ours -= theirs;
        }
        difference
    }
}

//! Users who come, sign in and leave, minute by minute. The time is an argument of the
//! store, so that a minute takes as long as its work.

use broker::model::UnixMs;
use broker::store::Store;
use futures_util::future::{try_join, try_join_all};

use super::steps::{Login, START, Step};
use crate::error::BenchError;

/// The number of users at once.
const AT_ONCE: usize = 64;

/// The sweeper's interval.
const SWEEP_EVERY_MS: i64 = 15_000;

/// The logins of one minute, drawn before the time is taken.
pub(crate) struct Minute {
    /// One for each interval of the sweeper.
    quarters: Vec<(UnixMs, Vec<Login>)>,
}

impl Minute {
    /// The minute with this number, in which `users` come.
    pub(crate) fn numbered(number: usize, users: usize) -> Self {
        const QUARTERS: usize = 4;
        let each = users.div_ceil(QUARTERS);
        let quarters = (0..QUARTERS).map(|quarter| {
            let elapsed = number * QUARTERS + quarter;
            let now = START.plus_ms(elapsed as i64 * SWEEP_EVERY_MS);
            let first = elapsed * each;
            let logins = first..first + each;
            (now, logins.map(|it| Login::numbered(it, now)).collect())
        });
        Self {
            quarters: quarters.collect(),
        }
    }

    /// Lets them come and leave while the sweeper deletes what has expired.
    pub(crate) async fn pass(&self, store: &dyn Store) -> Result<(), BenchError> {
        for (now, logins) in &self.quarters {
            try_join(sign_in(store, logins), sweep(store, *now)).await?;
        }
        Ok(())
    }
}

/// Signs in all of them, a bounded number at once.
pub(crate) async fn sign_in(store: &dyn Store, logins: &[Login]) -> Result<(), BenchError> {
    let clients = (0..AT_ONCE).map(async |client| {
        for login in logins.iter().skip(client).step_by(AT_ONCE) {
            for step in Step::CLEAN {
                step.run(store, login).await?;
            }
        }
        Ok(())
    });
    try_join_all(clients).await.map(drop)
}

/// As the broker's sweeper does.
async fn sweep(store: &dyn Store, now: UnixMs) -> Result<(), BenchError> {
    while store.sweep(now).await? > 0 {}
    Ok(())
}

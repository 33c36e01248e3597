//! Taking a step again which the database undid in favour of another one.

use super::error_message::StepError;
use crate::store::error::StoreError;

/// The most attempts at one step.
const MAX_ATTEMPTS: usize = 5;

/// The attempts at one step so far.
#[derive(Debug, Default)]
pub(super) struct Attempts(usize);

impl Attempts {
    /// The result of the step; none, if it is to be taken again.
    pub(super) fn judge<T>(
        &mut self,
        result: Result<T, StepError>,
    ) -> Option<Result<T, StoreError>> {
        self.0 += 1;
        match result {
            Err(StepError::Conflict(_)) if self.0 < MAX_ATTEMPTS => None,
            result => Some(result.map_err(StoreError::from)),
        }
    }
}

/// Takes the step that an expression begins, until it has a result.
macro_rules! repeat {
    ($step:expr) => {{
        let mut attempts = $crate::store::postgres::attempts::Attempts::default();
        loop {
            if let Some(result) = attempts.judge($step.await) {
                break result;
            }
        }
    }};
}
pub(super) use repeat;

//! The reasons why there is no further sandbox.

use crate::control_error::ControlError;
use crate::start_error::StackStartError;

/// The reason why there is no further sandbox.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxStartError {
    #[error(
        "{0} sandboxes run, which is the limit: delete one with DELETE /api/sandboxes/ID, \
         or start the stack with a larger --max-sandboxes"
    )]
    TooMany(usize),
    #[error(
        "this machine has no room for another sandbox ({0}): delete one with \
         DELETE /api/sandboxes/ID, or raise the limit on open files (ulimit -n)"
    )]
    NoRoom(String),
    #[error("the sandbox does not start: {0}")]
    CaFile(StackStartError),
}

impl From<StackStartError> for SandboxStartError {
    fn from(error: StackStartError) -> Self {
        match error {
            // A sandbox takes any free port, so no flag would help.
            StackStartError::Listen { server, source, .. } => {
                Self::NoRoom(format!("{server}: {source}"))
            }
            error @ StackStartError::CaFile { .. } => Self::CaFile(error),
            other => Self::NoRoom(other.to_string()),
        }
    }
}

impl From<SandboxStartError> for ControlError {
    fn from(error: SandboxStartError) -> Self {
        match error {
            SandboxStartError::TooMany(_) => Self::too_many(error),
            SandboxStartError::NoRoom(_) => Self::unavailable(error),
            SandboxStartError::CaFile(_) => Self::internal(error),
        }
    }
}

//! The result of a command.

use std::error::Error;

/// Done, or the error to print.
pub(super) type CommandResult = Result<(), Box<dyn Error>>;

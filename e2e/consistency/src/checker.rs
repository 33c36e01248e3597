//! The checker: is there an order in which the model explains a history?
//!
//! Each operation has happened at some moment between its invocation and its
//! completion; one without an answer at some moment after its invocation, or never.
//! The search takes the operations in every such order and asks the model for its
//! answers, until one order explains every answer and what the audit log has. Times
//! count within the bounds in which the broker's clock was read.
//!
//! | outcome | what may have happened |
//! |---|---|
//! | answered | the step, with this answer |
//! | 503 | as without an answer, and only while the store or the broker was down |
//! | no answer | all of the step, its first half, or nothing |
//! | answered while the database was down | the step; of one that commits twice perhaps the first half alone, or the second only before the outage ends: a dead database costs the outcomes that were on their way to it, or shows them later, and no more |

mod diagnosis;
mod search;
#[cfg(test)]
mod tests;

use crate::history::History;
use crate::operation::Outcome;

/// The flaw of a history, in a sentence.
pub(crate) type Violation = String;

/// Looks for an explanation of `history`.
///
/// # Errors
///
/// Why there is none.
pub(crate) fn check(history: &History) -> Result<(), Violation> {
    for operation in &history.operations {
        match &operation.outcome {
            Outcome::Unexpected(what) => {
                return Err(format!("no answer to {:?}: {what}", operation.step()));
            }
            Outcome::Unavailable if operation.is_settled && !history.is_in_outage(operation) => {
                return Err(format!(
                    "503 to {:?}, and nothing was down",
                    operation.step()
                ));
            }
            _ => {}
        }
    }
    search::explain(history).map_err(|unexplained| diagnosis::of(history, &unexplained))
}

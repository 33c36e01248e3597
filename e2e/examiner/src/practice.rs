//! Exercises: good consumers with faults, which a learner mends in a folder while the examiner
//! judges each save.
//!
//! | module | contents |
//! |---|---|
//! | [`exercise`] | the table of exercises, the files of each app, its hints and its solution |
//! | `cli` | the command line |
//! | `folder`, `progress` | the learner's folder, and the file in it that keeps the progress |
//! | `interpreter` | the program that runs the apps, with what they need |
//! | `judge` | the examination of an app |
//! | `session`, `words` | the course: what is shown, what the keys do; and the texts |

mod cli;
pub mod exercise;
mod folder;
mod interpreter;
mod judge;
mod progress;
mod session;
mod words;

pub use cli::Cli;
pub use exercise::{Exercise, Language};

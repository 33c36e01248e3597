//! The pages that users see, a file and a template each, all in the same frame.
//!
//! The templates escape every value. A name or an address that came from a
//! provider is text that a stranger has typed.

mod home;
mod problem;
mod profile;
mod status;

mod flow;

pub(crate) use flow::Flow;
pub(crate) use home::HomePage;
pub(crate) use problem::{Problem, ProblemPage};
pub(crate) use profile::ProfilePage;
pub(crate) use status::catcher;

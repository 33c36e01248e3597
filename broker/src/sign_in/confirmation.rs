//! The question whether a user started a sign-in.

use std::sync::Arc;

use contract::{Origin, Provider};

use crate::projects::Project;

/// The contents of the confirmation page.
pub(crate) struct Confirmation {
    pub(crate) project: Arc<Project>,
    /// The origin of the login's callback.
    pub(crate) origin: Origin,
    pub(crate) provider: Provider,
    pub(crate) question: Question,
}

/// The reason for which the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The project asks at every sign-in.
    Always,
    /// The visit did not start on the project's pages.
    StartedElsewhere,
    /// The browser comes back with other traits than it left with.
    OtherTraits,
}

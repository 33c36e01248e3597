//! The two flows, as pages offer them.

use contract::Provider;

/// One of the two flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The flow of `clean.rs`.
    Clean,
    /// The flow of `legacy.rs`.
    Legacy,
}

impl Flow {
    /// The flow's name in element ids and in the log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Flow::Clean => "clean",
            Flow::Legacy => "legacy",
        }
    }

    /// The path that a form posts to, to start a login with `provider`.
    pub(crate) fn start_path(self, provider: Provider) -> String {
        match self {
            Flow::Clean => format!("/login/{provider}"),
            Flow::Legacy => format!("/legacy/login/{provider}"),
        }
    }
}

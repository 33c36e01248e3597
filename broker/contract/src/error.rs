//! The one error body (SPEC, ApiError).

use serde::{Deserialize, Serialize};

/// What an application error looks like on the wire. It is generic on purpose:
/// the reason goes to the operator's audit, not to whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// The code; this kit knows only `request_failed`, as the spec does.
    pub error: String,
    /// A sentence for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ApiError {
    /// `request_failed` with a generic message.
    pub fn request_failed(message: &str) -> Self {
        Self {
            error: "request_failed".to_owned(),
            message: Some(message.to_owned()),
        }
    }
}

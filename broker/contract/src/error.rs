//! The one error body (SPEC, ApiError).

use serde::{Deserialize, Serialize};

/// An application error on the wire. It is generic on purpose: the reason goes to the
/// operator's audit log, not to the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// The code. Always `request_failed`, the only one in the spec.
    pub error: String,
    /// A sentence for a human reader.
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

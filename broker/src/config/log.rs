//! The `[log]` table.

use serde::Deserialize;

/// The `[log]` table.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// The format of a line.
    pub format: LogFormat,
}

/// The format of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for human readers.
    #[default]
    Readable,
    /// One JSON object a line.
    Json,
}

//! The errors of a configuration.

use std::path::PathBuf;

/// The reason for which a configuration was rejected.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file or the environment is not a configuration.
    #[error("{0}")]
    Invalid(String),
    /// Other users of this machine may read a file of secrets.
    #[error(
        "{path} holds a secret ({secret}), but its mode {mode:03o} lets others on this machine \
         read it: chmod 600 {path}"
    )]
    Readable {
        /// The file.
        path: String,
        /// One of its secrets.
        secret: &'static str,
        /// The file's permissions.
        mode: u32,
    },
    /// A certificate or key cannot be used.
    #[error("{path}: {why}")]
    Tls {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// A server under a provider's name is not that provider's.
    #[error("{0}")]
    Foreign(&'static str),
    /// Keys contradict each other, one lacks another, or a setting that is for this machine
    /// alone would face the network.
    #[error("{0}")]
    Inconsistent(&'static str),
}

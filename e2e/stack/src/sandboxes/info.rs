//! The description of a sandbox.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Sandbox;
use crate::projects::ProjectCredentials;
use crate::sandbox_directory::SandboxId;

/// A sandbox, as the control address describes it.
#[derive(Debug, Serialize)]
pub(crate) struct SandboxInfo {
    id: SandboxId,
    name: String,
    control: String,
    broker: String,
    consumer: Option<String>,
    upstreams: Upstreams,
    projects: Vec<ProjectCredentials>,
    /// The certificate authority to trust, if the sandbox has TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_file: Option<PathBuf>,
    /// Unix seconds.
    ends_at: i64,
}

#[derive(Debug, Serialize)]
struct Upstreams {
    google: String,
    github: String,
}

impl Sandbox {
    /// The description of this sandbox, with its id.
    pub(super) fn info(&self, id: SandboxId) -> SandboxInfo {
        let urls = self.stack.runtime.urls.clone();
        SandboxInfo {
            id,
            name: self.name.clone(),
            control: urls.control,
            broker: urls.broker,
            consumer: urls.consumer,
            upstreams: Upstreams {
                google: urls.google,
                github: urls.github,
            },
            projects: self.stack.runtime.projects.list(),
            ca_file: self.stack.runtime.ca_file().map(Path::to_owned),
            ends_at: self.activity.ends_at().0.div_euclid(1000),
        }
    }
}

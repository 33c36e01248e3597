//! The request for a sandbox, and the settings that follow from it.

use std::time::Duration;

use broker::model::UnixMs;
use broker::projects::ProjectName;
use mock_upstream::Mode;
use serde::Deserialize;

use crate::control::NewProject;
use crate::control_error::{ControlError, parse_field};
use crate::projects::ProjectRegistry;
use crate::settings::StackSettings;
use crate::time::StackClock;

const DEFAULT_TTL_SECONDS: u64 = 900;
/// A day: a sandbox that is forgotten costs memory.
const MAX_TTL_SECONDS: u64 = 86_400;

/// 2000-01-01 and 2100-01-01: certificates and cookies of other times make no sense.
const STARTS_AT: std::ops::RangeInclusive<i64> = 946_684_800..=4_102_444_800;

/// The body of `POST /api/sandboxes`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewSandbox {
    name: Option<String>,
    #[serde(default = "default_ttl")]
    ttl_seconds: u64,
    starts_at: Option<i64>,
    mode: Option<String>,
    https: Option<bool>,
    #[serde(default)]
    consumer: bool,
    #[serde(default)]
    projects: Vec<NewProject>,
}

/// A request that was checked.
pub(crate) struct SandboxPlan {
    /// The name; by default the id.
    pub(super) name: Option<String>,
    pub(super) lifetime: Duration,
    pub(super) has_demo: bool,
    pub(super) projects: ProjectRegistry,
    pub(super) settings: StackSettings,
}

fn default_ttl() -> u64 {
    DEFAULT_TTL_SECONDS
}

/// The settings of a sandbox beside `stack`: free ports, automatic sign-ins, a clock of
/// its own.
pub(super) fn template(stack: &StackSettings) -> StackSettings {
    StackSettings {
        upstream_timeout_ms: stack.upstream_timeout_ms,
        control_host: stack.control_host.clone(),
        https: stack.https,
        host: stack.host.clone(),
        users: stack.users.clone(),
        ..StackSettings::for_tests()
    }
}

impl NewSandbox {
    /// Checks every member; an error names it.
    pub(super) fn plan(self, template: &StackSettings) -> Result<SandboxPlan, ControlError> {
        let mode: Option<Mode> = match &self.mode {
            Some(mode) => Some(parse_field("mode", mode)?),
            None => None,
        };
        let registry = ProjectRegistry::default();
        for (index, project) in self.projects.into_iter().enumerate() {
            let registered = project.register(&registry);
            registered.map_err(|error| error.within(&format!("projects[{index}]")))?;
        }
        Ok(SandboxPlan {
            name: self.name.as_deref().map(parse_name).transpose()?,
            lifetime: parse_ttl(self.ttl_seconds)?,
            has_demo: self.consumer,
            projects: registry,
            settings: StackSettings {
                https: parse_https(self.https, template)?,
                automatic: mode != Some(Mode::Interactive),
                clock: match self.starts_at {
                    Some(seconds) => parse_start(seconds)?,
                    None => StackClock::default(),
                },
                ..template.clone()
            },
        })
    }
}

fn parse_name(text: &str) -> Result<String, ControlError> {
    match text.parse::<ProjectName>() {
        Ok(name) => Ok(name.into()),
        Err(_) => Err(ControlError::bad_request(
            "name: 1 to 80 printable characters, or leave it out",
        )),
    }
}

/// Whether the sandbox has TLS; by default, if the stack has.
fn parse_https(https: Option<bool>, template: &StackSettings) -> Result<bool, ControlError> {
    match (https, &template.host) {
        (Some(false), Some(_)) => Err(ControlError::bad_request(
            "https: a stack with --host serves https alone; leave the member out",
        )),
        (https, _) => Ok(https.unwrap_or(template.https)),
    }
}

fn parse_ttl(seconds: u64) -> Result<Duration, ControlError> {
    match seconds {
        1..=MAX_TTL_SECONDS => Ok(Duration::from_secs(seconds)),
        _ => Err(ControlError::bad_request(format!(
            "ttl_seconds: 1 to {MAX_TTL_SECONDS}, counted from the last call to the \
             sandbox's control address"
        ))),
    }
}

fn parse_start(seconds: i64) -> Result<StackClock, ControlError> {
    if !STARTS_AT.contains(&seconds) {
        return Err(ControlError::bad_request(format!(
            "starts_at: Unix seconds between {} (2000) and {} (2100)",
            STARTS_AT.start(),
            STARTS_AT.end()
        )));
    }
    Ok(StackClock::starting_at(UnixMs(seconds * 1000)))
}

//! Loading a configuration from its file and the environment.

use std::path::Path;

use figment::Figment;
use figment::providers::{Env, Format as _, Toml};

use super::Config;
use super::check;
use super::error::ConfigError;
use super::error_message::{self, PREFIX};
use crate::projects::Project;

impl Config {
    /// Reads the file at `path`, then the environment over it.
    ///
    /// # Errors
    ///
    /// If the file is unreadable, a key is unknown, missing or malformed, or
    /// development credentials would face the network; and when a broker that others
    /// can reach has its secrets in a file that others can read.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let file = Self::open(path)?;
        let (keys, ignored) = environment();
        let mut config = Self::parse(&file.clone().merge(keys))?;
        config.ignored_variables = ignored;
        let folder = path.parent().unwrap_or(Path::new(""));
        config.store.url = config.store.url.relative_to(folder);
        let ca_file = config.upstream.ca_file.take();
        config.upstream.ca_file = ca_file.map(|file| file.relative_to(folder));
        config.tls = config.tls.map(|tls| tls.relative_to(folder));
        config.check()?;
        if !config.is_local() {
            check::check_file(path, &file)?;
        }
        Ok(config)
    }

    /// Reads the projects alone: a command that needs nothing else works without the
    /// secrets at the providers.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), as far as it concerns the projects.
    pub fn load_projects(path: &Path) -> Result<Vec<Project>, ConfigError> {
        let file = Self::open(path)?;
        let projects = match file.contains("project") {
            true => file.extract_inner("project"),
            false => Ok(Vec::new()),
        };
        projects.map_err(|error| ConfigError::Invalid(error_message::of(&error)))
    }

    fn open(path: &Path) -> Result<Figment, ConfigError> {
        // figment treats a missing file as an empty one.
        std::fs::File::open(path).map_err(|source| ConfigError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Ok(Figment::from(Toml::file_exact(path)))
    }

    pub(super) fn parse(source: &Figment) -> Result<Self, ConfigError> {
        let config = source.extract();
        config.map_err(|error| ConfigError::Invalid(error_message::of(&error)))
    }
}

/// The variables of the environment that set keys, and the names of those with the same
/// prefix that describe services.
fn environment() -> (Env, Vec<String>) {
    let variables = Env::prefixed(PREFIX);
    let injected = variables.iter().filter(|(name, value)| {
        let name = name.as_str().to_ascii_uppercase();
        is_injected(&name, value)
    });
    let injected: Vec<_> = injected.map(|(name, _)| name.into_string()).collect();
    let name = |it: &String| format!("{PREFIX}{}", it.to_ascii_uppercase());
    let mut ignored: Vec<_> = injected.iter().map(name).collect();
    ignored.sort();
    let is_key = move |name: &str| !injected.iter().any(|it| it.eq_ignore_ascii_case(name));
    let keys = variables.filter(move |name| is_key(name.as_str()));
    (keys.split("__"), ignored)
}

/// Whether a variable describes a service, as those that Kubernetes injects for one whose
/// name begins with `broker`: `[NAME_]SERVICE_HOST`, `…SERVICE_PORT_portname`,
/// `…PORT_8000_TCP_ADDR`. Two underscores make a key. Only `…PORT` could be meant as one
/// otherwise, unless its value is an address.
fn is_injected(name: &str, value: &str) -> bool {
    let is_address = |scheme| value.starts_with(scheme);
    let words: Vec<_> = name.split('_').collect();
    let is_of_service = match words.as_slice() {
        it if it.windows(3).any(|it| it[..2] == ["SERVICE", "PORT"]) => true,
        [.., "SERVICE", "HOST" | "PORT"] => true,
        [.., "PORT", port, "TCP" | "UDP" | "SCTP"]
        | [
            ..,
            "PORT",
            port,
            "TCP" | "UDP" | "SCTP",
            "PROTO" | "PORT" | "ADDR",
        ] => port.parse::<u16>().is_ok(),
        [.., "PORT"] => ["tcp://", "udp://", "sctp://"].into_iter().any(is_address),
        _ => false,
    };
    is_of_service && !words.contains(&"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks variables without their prefix, separated by white space.
    #[track_caller]
    fn check(variables: &str, expected: bool) {
        for variable in variables.split_whitespace() {
            let (name, value) = variable.split_once('=').unwrap();
            assert_eq!(is_injected(name, value), expected, "{name}");
        }
    }

    #[test]
    fn an_orchestrators_variables_are_no_keys_and_others_must_be() {
        check(
            "SERVICE_HOST=10.0.0.11 SERVICE_PORT=8000 SERVICE_PORT_HTTP_METRICS=9000
            SERVICE_PORT_OPERATOR_PORT=9000
            PORT=tcp://10.0.0.11:8000 PORT=udp://10.0.0.11:8000 PORT_8000_TCP_ADDR=10.0.0.11
            PORT_53_UDP=udp://10.0.0.11:53 PORT_7_SCTP_PORT=7 METRICS_SERVICE_HOST=10.0.0.12
            METRICS_PORT=tcp://10.0.0.12:9000 V2_EU_1_PORT_5432_TCP=tcp://10.0.0.13:5432",
            true,
        );
        check(
            "PORT=8000 PORT= OPERATOR_PORT=9000 HOST=10.0.0.11 SERVICE=10.0.0.11
            SERVICE_HOSTS=10.0.0.11 SERVICE_PORT_=8000 MYSERVICE_HOST=10.0.0.11
            STORE__SERVICE_HOST=x _SERVICE_HOST=10.0.0.11 STORE__URL=tcp://10.0.0.11:8000
            PORT_8000=tcp://10.0.0.11:8000 PORT_8000_HTTP=tcp://10.0.0.11:8000
            PORT_80000_TCP=tcp://10.0.0.11:80000 PORT_8000_TCP_HOST=10.0.0.11",
            false,
        );
    }
}

//! The environment variables with the prefix `BROKER_`: the broker's keys, and those
//! that Kubernetes injects for a service whose name begins with `broker`.

use figment::providers::Env;

use super::error::ConfigError;
use super::error_message::unknown_key;
use super::keys::{self, KEYS};

const PREFIX: &str = "BROKER_";

/// The variables of the environment, divided into keys and others.
pub(super) struct Environment {
    /// The broker's keys.
    pub(super) keys: Env,
    /// The names of the variables that an orchestrator injected, in their order.
    pub(super) ignored: Vec<String>,
}

/// Reads the environment.
///
/// # Errors
///
/// A variable that is neither a key nor injected: it would silently be a default.
pub(super) fn read() -> Result<Environment, ConfigError> {
    let mut ignored = Vec::new();
    for (name, value) in Env::prefixed(PREFIX).iter() {
        match kind(name.as_str(), &value) {
            Kind::Key => {}
            Kind::Injected => ignored.push(name.as_str().to_ascii_uppercase()),
            Kind::Unknown => return Err(ConfigError::Invalid(message(name.as_str()))),
        }
    }
    ignored.sort();
    let injected = ignored.clone();
    let is_key = move |name: &str| !injected.iter().any(|it| it.eq_ignore_ascii_case(name));
    let keys = Env::prefixed(PREFIX).filter(move |name| is_key(name.as_str()));
    for name in &mut ignored {
        name.insert_str(0, PREFIX);
    }
    Ok(Environment {
        keys: keys.split("__"),
        ignored,
    })
}

/// The kind of a variable.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// One of the broker's keys.
    Key,
    /// The address of another service.
    Injected,
    /// Neither.
    Unknown,
}

/// The kind of the variable with this name, without the prefix.
fn kind(name: &str, value: &str) -> Kind {
    if KEYS.contains(&path(name).as_str()) {
        Kind::Key
    } else if is_injected(&name.to_ascii_uppercase(), value) {
        Kind::Injected
    } else {
        Kind::Unknown
    }
}

/// The key that a variable sets.
fn path(name: &str) -> String {
    name.to_ascii_lowercase().replace("__", ".")
}

/// Whether a variable describes a service: `[NAME_]SERVICE_HOST`, `…SERVICE_PORT`,
/// `…SERVICE_PORT_portname`, `…PORT`, `…PORT_8000_TCP`, and that with `_PROTO`, `_PORT`
/// or `_ADDR`. None of them is similar to the broker's keys except `…PORT`, whose value
/// must be an address: otherwise it could be meant as a key.
fn is_injected(name: &str, value: &str) -> bool {
    let words: Vec<_> = name.split('_').collect();
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric());
    if !words.iter().all(is_word) {
        return false;
    }
    let has_port_name = |three: &[&str]| three[..2] == ["SERVICE", "PORT"];
    match words.as_slice() {
        words if words.windows(3).any(has_port_name) => true,
        [.., "SERVICE", "HOST" | "PORT"] => true,
        [.., "PORT", port, "TCP" | "UDP" | "SCTP"]
        | [
            ..,
            "PORT",
            port,
            "TCP" | "UDP" | "SCTP",
            "PROTO" | "PORT" | "ADDR",
        ] => port.parse::<u16>().is_ok(),
        [.., "PORT"] => ["tcp://", "udp://", "sctp://"]
            .iter()
            .any(|scheme| value.starts_with(scheme)),
        _ => false,
    }
}

/// The variable that sets the key at `path`.
pub(super) fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "__").to_uppercase())
}

fn message(name: &str) -> String {
    let path = path(name);
    let unknown = unknown_key(&path);
    let hint = match keys::nearest(&path) {
        Some(key) => format!("did you mean {}?", variable(key)),
        None => "the broker's README lists the keys".to_owned(),
    };
    format!("{unknown} (in the environment, after {PREFIX}); {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks variables without their prefix, separated by white space.
    #[track_caller]
    fn check(variables: &str, expected: Kind) {
        for variable in variables.split_whitespace() {
            let (name, value) = variable.split_once('=').unwrap();
            assert_eq!(kind(name, value), expected, "{name}");
            assert_eq!(kind(&name.to_lowercase(), value), expected, "{name}");
        }
    }

    #[test]
    fn an_orchestrators_variables_are_no_keys() {
        let of_the_broker = "SERVICE_HOST=10.0.0.11 SERVICE_PORT=8000 SERVICE_PORT_HTTP=8000
            SERVICE_PORT_HTTP_METRICS=9000 PORT=tcp://10.0.0.11:8000 PORT=udp://10.0.0.11:8000
            PORT_8000_TCP=tcp://10.0.0.11:8000 PORT_8000_TCP_PROTO=tcp PORT_8000_TCP_PORT=8000
            PORT_8000_TCP_ADDR=10.0.0.11 PORT_53_UDP=udp://10.0.0.11:53
            PORT_53_UDP_ADDR=10.0.0.11 PORT_7_SCTP_PORT=7";
        let of_services_whose_name_begins_with_it = "METRICS_SERVICE_HOST=10.0.0.12
            METRICS_SERVICE_PORT_PROM=9000 METRICS_PORT=tcp://10.0.0.12:9000
            METRICS_PORT_9000_TCP_ADDR=10.0.0.12 STORE_SERVICE_HOST=10.0.0.13
            V2_EU_1_PORT_5432_TCP=tcp://10.0.0.13:5432";
        check(of_the_broker, Kind::Injected);
        check(of_services_whose_name_begins_with_it, Kind::Injected);
    }

    #[test]
    fn variables_that_only_look_injected_are_refused() {
        let unknown = "PORT=8000 PORT= OPERATOR_PORT=9000 HOST=10.0.0.11 SERVICE=10.0.0.11
            SERVICE_HOSTS=10.0.0.11 SERVICE_PORT_=8000 MYSERVICE_HOST=10.0.0.11
            STORE__SERVICE_HOST=10.0.0.11 _SERVICE_HOST=10.0.0.11
            PORT_8000=tcp://10.0.0.11:8000 PORT_X_TCP=tcp://10.0.0.11:8000
            PORT_80000_TCP=tcp://10.0.0.11:80000 PORT_8000_HTTP=tcp://10.0.0.11:8000
            PORT_8000_TCP_HOST=10.0.0.11";
        check(unknown, Kind::Unknown);
    }

    #[test]
    fn keys_are_keys() {
        for key in KEYS {
            let name = key.replace('.', "__").to_uppercase();
            check(&format!("{name}=x"), Kind::Key);
        }
    }
}

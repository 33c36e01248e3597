//! The checks that concern more than one key, and the security check: secrets and development
//! settings must not be visible from the network, or to other users of this machine.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use figment::Figment;

use super::Config;
use super::error::ConfigError;
use super::upstream::ProxyConfig;
use crate::projects::Project;
use crate::store::StoreUrl;

impl Config {
    /// Checks what no single key can express.
    ///
    /// # Errors
    ///
    /// If development credentials or a missing cookie key would face the network, an
    /// address under `upstream` is not the provider's, or brokers that share a store
    /// would share no cookie key.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_exposure()?;
        if let Some(tls) = &self.tls {
            tls.check()?;
            if !self.is_local() {
                check_mode(&tls.key, "the private key")?;
            }
        }
        self.upstream.check()?;
        self.check_keys_and_projects()
    }

    /// Checks what a broker that other machines reach must have: real secrets, TLS or a proxy with
    /// it, and metrics that the operator alone reads.
    fn check_exposure(&self) -> Result<(), ConfigError> {
        let is_exposed = !self.is_local();
        let operator = self.operator.bind.map(|bind| bind.ip());
        reject_first([
            (
                is_exposed && self.projects.iter().any(Project::is_for_development),
                "a project has the development secret, but base_url or bind is not loopback: \
                 make its credentials with `broker new-project`",
            ),
            (
                is_exposed && self.cookie_keys.is_empty(),
                "cookie_keys is empty, but base_url or bind is not loopback: \
                 add 32 random bytes in base64url, for instance from \
                 `head -c 32 /dev/urandom | base64 | tr /+ _- | tr -d =`",
            ),
            (
                is_exposed && !self.base_url.is_https(),
                "base_url is http, which is for this machine alone, but bind is not loopback: \
                 set base_url to the https address by which browsers reach the broker, \
                 or bind to 127.0.0.1",
            ),
            (
                operator.is_some_and(|ip| !ip.is_loopback()) && !self.operator.exposed,
                "operator.bind is not loopback, and any client that reaches it may read the \
                 metrics: bind to 127.0.0.1, or set operator.exposed = true where a private \
                 network or a firewall protects it",
            ),
            (
                self.tls.is_some() && !self.base_url.is_https(),
                "tls is set, but base_url is http: browsers reach a broker that terminates TLS \
                 at an https address",
            ),
        ])
    }

    fn check_keys_and_projects(&self) -> Result<(), ConfigError> {
        let is_shared = matches!(self.store.url, StoreUrl::Postgres(_));
        let ids: HashSet<_> = self.projects.iter().map(|it| &it.client_id).collect();
        reject_first([
            (
                is_shared && self.cookie_keys.is_empty(),
                "cookie_keys is empty, but the store is PostgreSQL, which brokers share: \
                 give all of them the same key, 32 random bytes in base64url, for instance from \
                 `head -c 32 /dev/urandom | base64 | tr /+ _- | tr -d =`",
            ),
            (
                ids.len() < self.projects.len(),
                "two projects have the same client_id: each needs its own",
            ),
        ])
    }
}

/// Rejects a configuration by the first fault that is there.
fn reject_first<const N: usize>(faults: [(bool, &'static str); N]) -> Result<(), ConfigError> {
    match faults.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, message)) => Err(ConfigError::Inconsistent(message)),
        None => Ok(()),
    }
}

/// Checks that no other user may read the configuration file at `path`, if it contains a
/// secret.
pub(super) fn check_file(path: &Path, file: &Figment) -> Result<(), ConfigError> {
    let Some(secret) = secret_in(file) else {
        return Ok(());
    };
    check_mode(path, secret)
}

/// Checks that no other user may read the file at `path`, which contains this secret.
fn check_mode(path: &Path, secret: &'static str) -> Result<(), ConfigError> {
    let unreadable = |source| ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if is_private(Owner::of(&metadata), metadata.permissions().mode()) {
        return Ok(());
    }
    Err(ConfigError::Readable {
        path: path.display().to_string(),
        secret,
        mode: metadata.permissions().mode() & 0o777,
    })
}

/// The owner of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Root,
    Another,
}

impl Owner {
    fn of(metadata: &Metadata) -> Self {
        match metadata.uid() {
            0 => Self::Root,
            _ => Self::Another,
        }
    }
}

/// A file of root's may be readable by its group: `root:broker 640` gives it to a
/// service, and systemd's credentials show their access list in the group's bits.
fn is_private(owner: Owner, mode: u32) -> bool {
    match owner {
        Owner::Root => mode & 0o037 == 0,
        Owner::Another => mode & 0o077 == 0,
    }
}

/// The first key of the file whose value is a secret.
fn secret_in(file: &Figment) -> Option<&'static str> {
    let has_store_password = || {
        let url = file.extract_inner::<String>("store.url").ok()?;
        url.parse().ok().filter(StoreUrl::has_password)
    };
    let has_proxy_password = || {
        let proxy = file.extract_inner::<ProxyConfig>("upstream.proxy").ok()?;
        Some(proxy).filter(ProxyConfig::has_password)
    };
    const SECRETS: [&str; 3] = [
        "cookie_keys",
        "upstream.google.client_secret",
        "upstream.github.client_secret",
    ];
    let plain = SECRETS.into_iter().find(|key| file.contains(key));
    plain
        .or_else(|| has_store_password().map(|_| "the password in store.url"))
        .or_else(|| has_proxy_password().map(|_| "the password in upstream.proxy"))
}

#[cfg(test)]
mod tests {
    use figment::providers::{Format as _, Toml};

    use super::*;

    #[test]
    fn a_file_is_private_to_its_owner_and_to_the_group_that_root_gives_it() {
        for (mode, roots, anothers) in [
            (0o100_600, true, true),
            (0o100_400, true, true),
            (0o100_640, true, false),
            (0o100_440, true, false),
            (0o100_660, false, false),
            (0o100_644, false, false),
            (0o100_604, false, false),
            (0o100_602, false, false),
        ] {
            assert_eq!(is_private(Owner::Root, mode), roots, "root {mode:o}");
            assert_eq!(is_private(Owner::Another, mode), anothers, "{mode:o}");
        }
    }

    #[test]
    fn a_secret_is_found_under_every_key_that_may_contain_one() {
        let found = |toml: &str| secret_in(&Figment::from(Toml::string(toml)));
        assert_eq!(found("store.url = 'postgres://broker@db/broker'"), None);
        assert_eq!(found("upstream.proxy = 'http://proxy.example:1'"), None);
        assert_eq!(found("[[project]]\nclient_secret_sha256 = 'x'"), None);
        assert_eq!(found("cookie_keys = ['x']"), Some("cookie_keys"));
        for (toml, named) in [
            ("upstream.google.client_secret = 'x'", "google"),
            ("upstream.github.client_secret = 'x'", "github"),
            ("store.url = 'postgres://broker:x@db/broker'", "store.url"),
            (
                "upstream.proxy = 'http://me:x@proxy.example:1'",
                "upstream.proxy",
            ),
        ] {
            assert!(found(toml).is_some_and(|key| key.contains(named)), "{toml}");
        }
    }
}

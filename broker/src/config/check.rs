//! The checks that concern more than one key.

use std::collections::HashSet;

use super::error::ConfigError;
use super::security_check;
use super::settings::Config;
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
        if !self.is_local() {
            security_check::check_exposed(self)?;
        }
        self.operator.check()?;
        self.check_tls()?;
        self.upstream.check()?;
        self.check_shared_key()?;
        self.check_projects()
    }

    fn check_tls(&self) -> Result<(), ConfigError> {
        let Some(tls) = &self.tls else {
            return Ok(());
        };
        if !self.base_url.is_https() {
            return Err(ConfigError::Contradictory(
                "tls is set, but base_url is http: browsers reach a broker that terminates TLS \
                 at an https address",
            ));
        }
        tls.check()?;
        if self.is_local() {
            return Ok(());
        }
        security_check::check_mode(&tls.key, "the private key")
    }

    fn check_shared_key(&self) -> Result<(), ConfigError> {
        if matches!(self.store.url, StoreUrl::Postgres(_)) && self.cookie_keys.is_empty() {
            return Err(ConfigError::Incomplete(
                "cookie_keys is empty, but the store is PostgreSQL, which brokers share: \
                 give all of them the same key, 32 random bytes in base64url, for instance from \
                 `head -c 32 /dev/urandom | basenc --base64url | tr -d =`",
            ));
        }
        Ok(())
    }

    fn check_projects(&self) -> Result<(), ConfigError> {
        let mut seen = HashSet::new();
        let mut ids = self.projects.iter().map(|project| &project.client_id);
        if ids.all(|id| seen.insert(id)) {
            Ok(())
        } else {
            Err(ConfigError::Ambiguous)
        }
    }
}

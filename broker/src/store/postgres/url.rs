//! The address of a PostgreSQL database.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The address of a PostgreSQL database. It may contain a password: `Debug` is
/// redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// In a box, because it is large.
    config: Box<Config>,
    encryption: Encryption,
    pool_mode: PoolMode,
}

/// The encryption on the way to the server, by libpq's parameters `sslmode` and
/// `sslrootcert`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Encryption {
    /// None.
    Off,
    /// TLS, with a certificate for the host's name by one of these authorities.
    Verified(Roots),
}

/// The trusted certificate authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Roots {
    /// Those of the operating system.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// How long a connection keeps its session of the server: pgbouncer's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolMode {
    /// As long as it lives.
    Session,
    /// For one transaction: behind a pooler that hands sessions around.
    Transaction,
}

impl PostgresUrl {
    /// Parses `text`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, without any part of it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut own = OwnParameters::default();
        let rest = own.take_from(text)?;
        let mut config: Config = rest.parse().map_err(|_| {
            "store.url is not an address that the PostgreSQL driver accepts: \
             postgres://USER@HOST:PORT/DATABASE, other characters percent-encoded"
        })?;
        let encryption = own.encryption()?;
        config.ssl_mode(match encryption {
            Encryption::Off => SslMode::Disable,
            Encryption::Verified(_) => SslMode::Require,
        });
        Ok(Self {
            config: Box::new(config),
            encryption,
            pool_mode: own.pool_mode()?,
        })
    }

    /// The same address, with a relative path resolved against `folder`.
    pub(crate) fn relative_to(mut self, folder: &Path) -> Self {
        if let Encryption::Verified(Roots::File(path)) = &mut self.encryption {
            *path = folder.join(&*path);
        }
        self
    }

    /// Whether the address contains a password.
    pub(crate) fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Whether everything that is stored crosses a network in clear.
    pub(crate) fn is_exposed(&self) -> bool {
        let is_elsewhere = |host: &Host| match host {
            Host::Tcp(name) => {
                let address = name.parse::<IpAddr>();
                !address.map_or(name == "localhost", |it| it.is_loopback())
            }
            Host::Unix(_) => false,
        };
        let mut addresses = self.config.get_hostaddrs().iter();
        self.encryption == Encryption::Off
            && match self.config.get_hostaddrs() {
                [] => self.config.get_hosts().iter().any(is_elsewhere),
                _ => addresses.any(|it| !it.is_loopback()),
            }
    }

    /// The address, for the driver alone.
    pub(super) fn expose(&self) -> &Config {
        &self.config
    }

    pub(super) fn encryption(&self) -> &Encryption {
        &self.encryption
    }

    pub(super) fn pool_mode(&self) -> PoolMode {
        self.pool_mode
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresUrl([redacted])")
    }
}

/// The parameters that the driver does not know, or not fully.
#[derive(Default)]
struct OwnParameters {
    ssl_mode: Option<String>,
    ssl_root_cert: Option<String>,
    pool_mode: Option<String>,
}

impl OwnParameters {
    /// Takes them from an address, and returns it without them.
    fn take_from(&mut self, text: &str) -> Result<String, &'static str> {
        // As the driver reads it, a question mark before this is part of the password.
        let credentials = text.find('@').unwrap_or_default();
        let Some(query) = text[credentials..].find('?').map(|at| credentials + at) else {
            return Ok(text.to_owned());
        };
        let mut rest = Vec::new();
        for parameter in text[query + 1..].split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let own = match name {
                "sslmode" => &mut self.ssl_mode,
                "sslrootcert" => &mut self.ssl_root_cert,
                "pool_mode" => &mut self.pool_mode,
                "sslcert" | "sslkey" => {
                    return Err("store.url has sslcert or sslkey, but the broker has no \
                                certificate of its own for PostgreSQL: use a password");
                }
                _ => {
                    rest.push(parameter);
                    continue;
                }
            };
            let value = percent_decode_str(value).decode_utf8();
            *own = Some(value.map_err(|_| "store.url is not UTF-8")?.into_owned());
        }
        let (address, rest) = (&text[..query], rest.join("&"));
        Ok(match rest.is_empty() {
            true => address.to_owned(),
            false => format!("{address}?{rest}"),
        })
    }

    fn encryption(&self) -> Result<Encryption, &'static str> {
        let root = self.ssl_root_cert.as_deref();
        match (self.ssl_mode.as_deref(), root) {
            // As libpq has it, the system's authorities alone ask for the strictest mode.
            (None | Some("verify-full"), Some("system")) | (Some("verify-full"), None) => {
                Ok(Encryption::Verified(Roots::System))
            }
            (Some("verify-full"), Some(file)) => Ok(Encryption::Verified(Roots::File(file.into()))),
            (Some("require" | "verify-ca"), _) => Err(
                "sslmode in store.url does not check that the server is the right one: use \
                     sslmode=verify-full, with sslrootcert=FILE for an authority of your own",
            ),
            (None | Some("disable" | "prefer" | "allow"), Some(_)) => Err(
                "store.url has sslrootcert, but its sslmode does not check certificates: \
                     use sslmode=verify-full",
            ),
            (None | Some("disable" | "prefer" | "allow"), None) => Ok(Encryption::Off),
            (Some(_), _) => Err("sslmode in store.url is verify-full or disable"),
        }
    }

    fn pool_mode(&self) -> Result<PoolMode, &'static str> {
        match self.pool_mode.as_deref() {
            None | Some("session") => Ok(PoolMode::Session),
            Some("transaction") => Ok(PoolMode::Transaction),
            Some(_) => Err("pool_mode in store.url is session or transaction"),
        }
    }
}

//! The address of a PostgreSQL database.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use contract::redacted;
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
/// `sslrootcert`: none, or TLS with a certificate for the host's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Encryption {
    Off,
    /// By an authority of the operating system.
    BySystem,
    /// By an authority in a PEM file.
    ByFile(PathBuf),
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
            Encryption::BySystem | Encryption::ByFile(_) => SslMode::Require,
        });
        Ok(Self {
            config: Box::new(config),
            encryption,
            pool_mode: own.pool_mode()?,
        })
    }

    /// The same address, with a relative path resolved against `folder`.
    pub(crate) fn relative_to(mut self, folder: &Path) -> Self {
        if let Encryption::ByFile(path) = &mut self.encryption {
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

redacted!(PostgresUrl);

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
                Ok(Encryption::BySystem)
            }
            (Some("verify-full"), Some(file)) => Ok(Encryption::ByFile(file.into())),
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

/// Addresses, as operators paste them.
#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> PostgresUrl {
        PostgresUrl::parse(text).expect(text)
    }

    #[test]
    fn its_password_is_not_printed() {
        let url = parse("postgres://broker:hush@db/broker");
        assert_eq!(format!("{url:?}"), "PostgresUrl([redacted])");
        assert_eq!(url.expose().get_password(), Some(&b"hush"[..]));
    }

    #[track_caller]
    fn check_encryption(parameters: &str, expected: &Encryption) {
        let url = parse(&format!("postgres://broker@db/broker{parameters}"));
        assert_eq!(url.encryption(), expected);
        let is_on = *expected != Encryption::Off;
        let required = url.expose().get_ssl_mode() == SslMode::Require;
        assert_eq!(required, is_on, "the driver insists on it");
        assert_eq!(url.expose().get_dbname(), Some("broker"));
    }

    #[test]
    fn verify_full_checks_by_the_systems_authorities_or_by_those_of_a_file() {
        let file = |path: &str| Encryption::ByFile(path.into());
        let system = Encryption::BySystem;
        check_encryption("", &Encryption::Off);
        check_encryption("?sslmode=disable", &Encryption::Off);
        check_encryption("?sslmode=prefer", &Encryption::Off);
        check_encryption("?sslmode=verify-full", &system);
        check_encryption("?sslrootcert=system", &system);
        check_encryption("?sslmode=verify-full&sslrootcert=system", &system);
        check_encryption(
            "?sslmode=verify-full&sslrootcert=/a/b.pem",
            &file("/a/b.pem"),
        );
        check_encryption(
            "?sslrootcert=%2Fa%20b.pem&target_session_attrs=read-write&sslmode=verify-full",
            &file("/a b.pem"),
        );
    }

    #[track_caller]
    fn check_rejection(parameters: &str, advice: &str) {
        let url = format!("postgres://broker:hush@db/broker?{parameters}");
        let error = PostgresUrl::parse(&url).unwrap_err();
        assert!(error.contains(advice), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }

    #[test]
    fn a_mode_that_does_not_check_the_server_is_rejected_with_the_one_that_does() {
        check_rejection("sslmode=require", "use sslmode=verify-full");
        check_rejection(
            "sslmode=verify-ca&sslrootcert=/a",
            "use sslmode=verify-full",
        );
        check_rejection("sslrootcert=/a", "use sslmode=verify-full");
        check_rejection("sslmode=disable&sslrootcert=/a", "use sslmode=verify-full");
        check_rejection("sslmode=verify_full", "is verify-full or disable");
        check_rejection("sslcert=/a", "use a password");
        check_rejection("pool_mode=statement", "is session or transaction");
        check_rejection("nonsense=1", "the PostgreSQL driver accepts");
    }

    #[test]
    fn a_relative_file_of_authorities_is_beside_the_configuration() {
        let url = parse("postgres://broker@db/broker?sslmode=verify-full&sslrootcert=ca.pem");
        let expected = Encryption::ByFile("/etc/broker/ca.pem".into());
        assert_eq!(
            *url.relative_to(Path::new("/etc/broker")).encryption(),
            expected
        );
    }

    #[test]
    fn an_address_is_exposed_if_it_leaves_the_machine_in_clear() {
        for (text, is_exposed) in [
            ("postgres://broker@db/broker", true),
            ("postgres://broker@db/broker?sslmode=disable", true),
            ("postgres://broker@db/broker?sslmode=verify-full", false),
            ("postgres://broker@localhost/broker", false),
            ("postgres://broker@127.0.0.1/broker", false),
            ("postgres://broker@[::1]:5432/broker", false),
            ("postgres://broker@10.0.0.1/broker", true),
            ("postgres://broker@localhost,db/broker", true),
            ("postgres://broker@%2Frun%2Fpostgresql/broker", false),
            ("postgres://broker@localhost/broker?hostaddr=10.0.0.1", true),
        ] {
            assert_eq!(parse(text).is_exposed(), is_exposed, "{text}");
        }
    }

    #[test]
    fn a_question_mark_in_a_password_begins_no_parameters() {
        let url = parse("postgres://broker:a?sslmode=x@db/broker?pool_mode=transaction");
        assert_eq!(url.expose().get_password(), Some(&b"a?sslmode=x"[..]));
        assert_eq!(url.pool_mode(), PoolMode::Transaction);
    }
}

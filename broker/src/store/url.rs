//! The address of a store in the configuration.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use contract::parsed;
use serde::Deserialize;

use super::postgres::url::PostgresUrl;

/// The address of a store: the configuration's `store.url`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum StoreUrl {
    /// `sqlite::memory:`: lost when the process ends.
    SqliteMemory,
    /// `sqlite:PATH`: a file.
    SqliteFile(PathBuf),
    /// `postgres://…`: a database that several brokers may share.
    Postgres(PostgresUrl),
}

impl StoreUrl {
    /// The same address, with a relative path resolved against `folder`.
    pub fn relative_to(self, folder: &Path) -> Self {
        match self {
            StoreUrl::SqliteFile(path) => StoreUrl::SqliteFile(folder.join(path)),
            StoreUrl::Postgres(url) => StoreUrl::Postgres(url.relative_to(folder)),
            StoreUrl::SqliteMemory => self,
        }
    }

    /// Whether the address contains a password.
    pub fn has_password(&self) -> bool {
        matches!(self, StoreUrl::Postgres(url) if url.has_password())
    }

    /// A note on an address that shows what is stored to a network.
    pub fn exposure(&self) -> Option<&'static str> {
        match self {
            StoreUrl::Postgres(url) if url.is_exposed() => Some(
                "store.url is another machine, and the connection to it is not encrypted: add \
                 sslmode=verify-full, and sslrootcert=FILE for an authority of your own",
            ),
            _ => None,
        }
    }
}

impl FromStr for StoreUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "a store is sqlite:PATH, sqlite::memory: or postgres://…";
        match text.split_once(':') {
            Some(("sqlite", ":memory:")) => Ok(StoreUrl::SqliteMemory),
            Some(("sqlite", path)) if !path.is_empty() => Ok(StoreUrl::SqliteFile(path.into())),
            Some(("postgres" | "postgresql", _)) => {
                PostgresUrl::parse(text).map(StoreUrl::Postgres)
            }
            _ => Err(EXPECTED),
        }
    }
}

parsed!(StoreUrl);

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::SqliteMemory => f.write_str("sqlite::memory:"),
            StoreUrl::SqliteFile(path) => write!(f, "sqlite:{}", path.display()),
            StoreUrl::Postgres(_) => f.write_str("postgres://[redacted]"),
        }
    }
}

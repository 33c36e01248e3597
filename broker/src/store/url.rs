//! The address of a store in the configuration.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::postgres::url::PostgresUrl;

/// The address of a store: the configuration's `store.url`.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            StoreUrl::SqliteMemory | StoreUrl::Postgres(_) => self,
        }
    }

    /// Whether the address contains a password.
    pub fn has_password(&self) -> bool {
        matches!(self, StoreUrl::Postgres(url) if url.has_password())
    }
}

impl FromStr for StoreUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "a store is sqlite:PATH, sqlite::memory: or postgres://…";
        match text.split_once(':') {
            Some(("sqlite", ":memory:")) => Ok(StoreUrl::SqliteMemory),
            Some(("sqlite", path)) if !path.is_empty() => Ok(StoreUrl::SqliteFile(path.into())),
            Some(("postgres" | "postgresql", _)) => PostgresUrl::parse(text)
                .map(StoreUrl::Postgres)
                .ok_or(EXPECTED),
            _ => Err(EXPECTED),
        }
    }
}

impl TryFrom<String> for StoreUrl {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::SqliteMemory => f.write_str("sqlite::memory:"),
            StoreUrl::SqliteFile(path) => write!(f, "sqlite:{}", path.display()),
            StoreUrl::Postgres(_) => f.write_str("postgres://[redacted]"),
        }
    }
}

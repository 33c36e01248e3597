//! The address of a PostgreSQL database.

use std::fmt;

use tokio_postgres::Config;

/// The address of a PostgreSQL database. It may contain a password: `Debug` is
/// redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// Parses `text`; `None` if the driver rejects it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        text.parse::<Config>().ok()?;
        Some(Self(text.to_owned()))
    }

    /// Whether the address contains a password.
    pub(crate) fn has_password(&self) -> bool {
        let config = self.0.parse::<Config>();
        config.is_ok_and(|config| config.get_password().is_some())
    }

    /// The address, for the driver alone.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresUrl([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_password_is_not_printed() {
        let url = PostgresUrl::parse("postgres://broker:hush@db/broker").unwrap();
        assert_eq!(format!("{url:?}"), "PostgresUrl([redacted])");
        assert!(url.expose().contains("hush"));
    }
}

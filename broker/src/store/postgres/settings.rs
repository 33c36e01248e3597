//! The settings on which the steps rely, whatever the defaults of the server, the
//! database and the role are.

use deadpool_postgres::HookError;
use tokio_postgres::{Client, SimpleQueryMessage};

/// The settings of every connection. An acknowledged commit is on disk, and on the
/// synchronous standby if there is one; a statement ends soon after its caller's time
/// limit; the locks of a broker that freezes within a transaction are released. Times
/// are in milliseconds.
pub(super) const SETTINGS: Settings = Settings(&[
    ("synchronous_commit", "on"),
    (ISOLATION, "read committed"),
    ("statement_timeout", "6000"),
    ("lock_timeout", "4000"),
    ("idle_in_transaction_session_timeout", "6000"),
]);

const ISOLATION: &str = "default_transaction_isolation";

/// Settings by their names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings(pub(super) &'static [(&'static str, &'static str)]);

impl Settings {
    /// The command-line options of a connection that has them.
    pub(super) fn options(self) -> String {
        let option = |(name, value): &(&str, &str)| {
            let value = value.replace(' ', "\\ ");
            format!(" -c {name}={value}")
        };
        self.0.iter().map(option).collect()
    }

    /// The statements that begin a transaction which has them, and leave the connection
    /// as it was.
    pub(super) fn begin(self) -> String {
        let set = |(name, value): &(&str, &str)| match *name {
            ISOLATION => format!("; SET TRANSACTION ISOLATION LEVEL {value}"),
            _ => format!("; SET LOCAL {name} = '{value}'"),
        };
        "BEGIN".to_owned() + &self.0.iter().map(set).collect::<String>()
    }

    /// Checks that a new connection has them.
    pub(super) async fn check(self, client: &Client) -> Result<(), HookError> {
        let names: Vec<_> = self.0.iter().map(|(name, _)| *name).collect();
        let names = names.join(",");
        let select =
            format!("SELECT name, setting FROM pg_settings WHERE name = ANY('{{{names}}}')");
        let rows = client.simple_query(&select).await;
        let rows = rows.map_err(HookError::Backend)?;
        let is_set = |(name, value): &&(&str, &str)| {
            rows.iter().any(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    row.get("name") == Some(name) && row.get("setting") == Some(value)
                }
                _ => false,
            })
        };
        match self.0.iter().find(|setting| !is_set(setting)) {
            None => Ok(()),
            Some((name, value)) => Err(HookError::message(format!(
                "a new connection does not have {name}={value}, which the broker asked for: a \
                 pooler ignores its options; add pool_mode=transaction to store.url"
            ))),
        }
    }
}

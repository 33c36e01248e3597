//! The `[store]` table.

use serde::{Deserialize, Deserializer};

use crate::store::StoreUrl;

/// The `[store]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// `sqlite:PATH`, relative to the configuration file, `sqlite::memory:`, or
    /// `postgres://…`.
    #[serde(deserialize_with = "store_url")]
    pub url: StoreUrl,
}

impl StoreConfig {
    /// A store in memory.
    pub(super) fn in_memory() -> Self {
        Self {
            url: StoreUrl::SqliteMemory,
        }
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: StoreUrl::SqliteFile("broker.db".into()),
        }
    }
}

fn store_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<StoreUrl, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}

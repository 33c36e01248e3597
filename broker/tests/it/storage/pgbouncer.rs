//! PostgreSQL behind pgbouncer in transaction mode, which hands two sessions of the
//! server around: one database per test. Needs pgbouncer; `just test` installs it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use broker::store::fail_points::FailPoints;
use broker::store::{Store, StoreUrl};
use testkit::postgres::bouncer::Bouncer;
use testkit::postgres::{Durability, Server};
use tokio_postgres::{Client, NoTls};

use super::test_store::Engine;

/// A server whose defaults are the opposite of what the store relies on, and its pooler.
static POOLED: LazyLock<(Server, Bouncer)> = LazyLock::new(|| {
    let contrary = [
        "synchronous_commit=off",
        "default_transaction_isolation=serializable",
    ];
    let server = Server::start_with(Durability::Relaxed, &contrary).expect("PostgreSQL");
    let two_sessions = ["default_pool_size = 2", "max_client_conn = 1000"];
    let bouncer =
        Bouncer::start(&server, &two_sessions).expect("pgbouncer: `just test` installs it");
    (server, bouncer)
});

/// The database of one test.
pub(super) struct Pooled(String);

impl Pooled {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// A connection past the pooler.
    async fn client(database: &str) -> Client {
        let (server, _) = &*POOLED;
        let url = server.url(database);
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    fn url(&self) -> String {
        let (_, bouncer) = &*POOLED;
        bouncer.url(&self.0)
    }
}

#[async_trait]
impl Engine for Pooled {
    async fn open_with(&self, fail_points: FailPoints) -> Store {
        let client = Self::client("postgres").await;
        // The second broker of a test finds it.
        let _ = client
            .batch_execute(&format!("CREATE DATABASE {}", self.0))
            .await;
        let url: StoreUrl = format!("{}?pool_mode=transaction", self.url())
            .parse()
            .unwrap();
        broker::store::open(&url, fail_points).unwrap()
    }

    async fn count(&self, select: &str) -> i64 {
        let client = Self::client(&self.0).await;
        client.query_one(select, &[]).await.unwrap().get(0)
    }
}

/// The error of a broker whose address does not name the pooler, behind one with this
/// line in its configuration.
async fn refusal(setting: &str) -> String {
    let server = Server::start_with(Durability::Relaxed, &["synchronous_commit=off"]).unwrap();
    let bouncer = Bouncer::start(&server, &[setting]).unwrap();
    let url: StoreUrl = bouncer.url("postgres").parse().unwrap();
    let store = broker::store::open(&url, FailPoints::NONE).unwrap();
    store.ready().await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_pooler_that_refuses_the_settings_is_named_with_the_way_out() {
    let error = refusal("").await;
    assert!(error.contains("unsupported startup parameter"), "{error}");
    assert!(error.contains("pool_mode=transaction"), "{error}");
}

#[tokio::test]
async fn a_pooler_that_ignores_the_settings_is_noticed() {
    let error = refusal("ignore_startup_parameters = options").await;
    assert!(error.contains("synchronous_commit=on"), "{error}");
    assert!(error.contains("pool_mode=transaction"), "{error}");
}

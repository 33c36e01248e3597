//! The shared engine: one server for the whole run, and one schema per test. Needs
//! PostgreSQL's programs; `just test` installs them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use broker::store::fail_points::FailPoints;
use broker::store::{Store, StoreUrl};
use testkit::postgres::{Durability, Server};
use tokio_postgres::NoTls;

use super::test_store::Engine;

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    Server::start(Durability::Relaxed).expect("PostgreSQL: `just test` installs it")
});

/// The schema of one test.
#[derive(Clone)]
pub(crate) struct Schema(Arc<String>);

impl Schema {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Self(Arc::new(name))
    }

    /// A schema that exists already.
    pub(crate) async fn created() -> Self {
        let schema = Self::new();
        schema.execute(&format!("CREATE SCHEMA {}", schema.0)).await;
        schema
    }

    /// A schema that belongs to a role of the same name, which signs in by this
    /// password.
    pub(crate) async fn with_password(password: &str) -> Self {
        let schema = Self::new();
        let name = &schema.0;
        let group = testkit::postgres::PASSWORD_GROUP;
        schema
            .execute(&format!(
                "CREATE ROLE {name} LOGIN PASSWORD '{password}' IN ROLE {group};
                 CREATE SCHEMA {name} AUTHORIZATION {name}"
            ))
            .await;
        schema
    }

    pub(crate) async fn change_password(&self, password: &str) {
        self.execute(&format!("ALTER ROLE {} PASSWORD '{password}'", self.0))
            .await;
    }

    /// The URL of the role with the schema's name.
    pub(crate) fn url_with(&self, password: &str) -> String {
        SERVER.url_of_role(&self.0, password)
    }

    /// The names of its tables.
    pub(crate) async fn tables(&self) -> Vec<String> {
        const NAMES: &str = "SELECT tablename FROM pg_tables WHERE schemaname = $1";
        let rows = self.client().await.query(NAMES, &[&self.name()]).await;
        rows.unwrap().iter().map(|row| row.get(0)).collect()
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    pub(crate) fn url(&self) -> String {
        SERVER.url_of_schema(&self.0)
    }

    /// Another database of the same server.
    pub(crate) fn url_of_database(&self, database: &str) -> String {
        SERVER.url(database)
    }

    /// Runs a statement on a connection of its own.
    pub(crate) async fn execute(&self, statement: &str) {
        self.client().await.batch_execute(statement).await.unwrap();
    }

    async fn client(&self) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }
}

#[async_trait]
impl Engine for Schema {
    async fn open_with(&self, fail_points: FailPoints) -> Store {
        self.execute(&format!("CREATE SCHEMA IF NOT EXISTS {}", self.0))
            .await;
        let url: StoreUrl = self.url().parse().unwrap();
        broker::store::open(&url, fail_points).unwrap()
    }

    async fn count(&self, select: &str) -> i64 {
        self.client()
            .await
            .query_one(select, &[])
            .await
            .unwrap()
            .get(0)
    }
}

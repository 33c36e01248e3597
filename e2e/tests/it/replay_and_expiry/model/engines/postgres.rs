//! The shared engine: a server of the test's own, with a schema for each broker.
//! Needs PostgreSQL's programs; `just test` installs them.

use broker::cookie_cipher::CookieKey;
use broker::store::StoreUrl;
use testkit::postgres::{Durability, Server};
use tokio_postgres::NoTls;

use super::next;
use crate::replay_and_expiry::model::fixture::Database;
use testkit::server::runtime;

pub(super) fn start() -> Server {
    Server::start(Durability::Relaxed).expect("PostgreSQL: `just test` installs it")
}

/// One more schema. The key is in the configuration, for there is no file beside
/// which it could be kept.
pub(super) fn schema(server: &Server) -> Database {
    let schema = format!("model_{}", next());
    make(server, &schema);
    let url = server.url_of_schema(&schema);
    Database {
        store: url.parse::<StoreUrl>().expect("it is written well"),
        cookie_keys: vec![CookieKey::from_random(&[7; 32])],
    }
}

fn make(server: &Server, schema: &str) {
    runtime().block_on(async {
        let url = server.url("postgres");
        let connecting = tokio_postgres::connect(&url, NoTls);
        let (client, connection) = connecting.await.expect("it serves");
        tokio::spawn(connection);
        let statement = format!("CREATE SCHEMA {schema}");
        client.batch_execute(&statement).await.expect("a schema");
    });
}

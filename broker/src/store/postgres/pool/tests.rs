//! The settings of a connection of the pool, read back from that connection; steps that
//! the database undoes; connections whose server has vanished.

mod conflicts;

use testkit::postgres::{Durability, Server};

use super::*;

/// The opposite of each setting that the store relies on.
const CONTRARY: [&str; 5] = [
    "synchronous_commit=off",
    "default_transaction_isolation=serializable",
    "statement_timeout=0",
    "lock_timeout=0",
    "idle_in_transaction_session_timeout=0",
];

/// The settings that the store relies on.
const RELIED_ON: [(&str, &str); 5] = [
    ("synchronous_commit", "on"),
    ("transaction_isolation", "read committed"),
    ("statement_timeout", "6s"),
    ("lock_timeout", "4s"),
    ("idle_in_transaction_session_timeout", "6s"),
];

/// The settings of one connection, and the server process behind it.
#[derive(Debug, PartialEq)]
struct Session {
    process_id: i32,
    settings: Vec<(&'static str, String)>,
}

async fn session(db: &PostgresExecutor<'_>) -> Result<Session, StepError> {
    let row = db.client.query_one("SELECT pg_backend_pid()", &[]).await?;
    let process_id = row.get(0);
    let mut settings = Vec::new();
    for (name, _) in RELIED_ON {
        let row = db.client.query_one(&format!("SHOW {name}"), &[]).await?;
        settings.push((name, row.get(0)));
    }
    Ok(Session {
        process_id,
        settings,
    })
}

fn pool(url: &str) -> Pool {
    let url = PostgresUrl::parse(url).expect("an address");
    Pool::to(&url, FailPoints::NONE).expect("a pool, which does not connect yet")
}

// Threats: L3.
#[tokio::test]
async fn a_connection_insists_on_its_settings_whatever_the_servers_defaults_are() {
    let server = Server::start_with(Durability::Relaxed, &CONTRARY).unwrap();
    let pool = pool(&server.url("postgres"));
    let first = pool.run(session).await.unwrap();
    assert_eq!(
        first.settings,
        RELIED_ON.map(|(name, it)| (name, it.to_owned()))
    );
    let recycled = pool.transact(session).await;
    assert_eq!(recycled.unwrap(), first, "the same connection, lent again");
}

// Threats: L3.
#[tokio::test]
async fn neither_the_role_nor_the_address_weakens_a_connection() {
    let server = Server::start(Durability::Relaxed).unwrap();
    let owner = pool(&server.url("postgres"));
    let weaken = CONTRARY.map(|setting| {
        let (name, value) = setting.split_once('=').unwrap();
        format!("ALTER ROLE broker IN DATABASE postgres SET {name} = '{value}';")
    });
    owner
        .run(async |db| Ok(db.client.batch_execute(&weaken.concat()).await?))
        .await
        .unwrap();
    let options = CONTRARY.map(|setting| format!("-c{}", setting.replace('=', "%3D")));
    let url = format!("{}?options={}", server.url("postgres"), options.join("%20"));
    let weakened = pool(&url).run(session).await;
    assert_eq!(
        weakened.unwrap().settings,
        RELIED_ON.map(|(name, it)| (name, it.to_owned()))
    );
}

#[tokio::test]
async fn a_transaction_on_a_lent_session_has_the_settings_and_leaves_none_behind() {
    let server = Server::start_with(Durability::Relaxed, &CONTRARY).unwrap();
    let pool = pool(&format!("{}?pool_mode=transaction", server.url("postgres")));
    for taken in [pool.run(session).await, pool.transact(session).await] {
        let expected = RELIED_ON.map(|(name, it)| (name, it.to_owned()));
        assert_eq!(taken.unwrap().settings, expected);
    }
    let client = pool.connections.get().await.unwrap();
    let row = client.query_one("SHOW synchronous_commit", &[]).await;
    assert_eq!(row.unwrap().get::<_, String>(0), "off");
}

//! The settings of a connection of the pool, read back from that connection; steps that
//! the database undoes; connections whose server has vanished.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::postgres::{Durability, Server};
use tokio::sync::Barrier;
use tokio_postgres::{Client, NoTls};

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

fn pool(url: &str) -> Postgres {
    let url = PostgresUrl::parse(url).expect("an address");
    Postgres::at(&url, FailPoints::NONE).expect("a pool, which does not connect yet")
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

/// The strictest isolation, under which the second of two writers of a row is undone.
const SERIALIZABLE: Settings = Settings(&[("default_transaction_isolation", "serializable")]);

async fn client(server: &Server) -> Client {
    let url = server.url("postgres");
    let connected = tokio_postgres::connect(&url, NoTls).await;
    let (client, connection) = connected.expect("the server runs");
    tokio::spawn(connection);
    client
}

fn serializable(server: &Server) -> Postgres {
    let url = PostgresUrl::parse(&server.url("postgres")).expect("an address");
    Postgres::with_settings(&url, FailPoints::NONE, SERIALIZABLE).expect("a pool")
}

/// Commits a change of the row that a step waits for, once it waits.
async fn commit_under(writer: &Client) {
    const WAIT: &str = "DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_stat_activity \
        WHERE wait_event_type = 'Lock') LOOP PERFORM pg_stat_clear_snapshot(); END LOOP; END $$";
    let committed = writer.batch_execute(&format!("{WAIT}; COMMIT")).await;
    committed.expect("the step waits");
}

#[tokio::test]
async fn a_step_that_cannot_be_serialized_is_taken_again() {
    const ADD: &str = "UPDATE row SET n = n + 1";
    let server = Server::start(Durability::Relaxed).unwrap();
    let (writer, pool) = (client(&server).await, serializable(&server));
    let make = "CREATE TABLE row (n BIGINT); INSERT INTO row VALUES (0)";
    writer.batch_execute(make).await.unwrap();
    let takes = AtomicUsize::new(0);
    let add = async |db: &PostgresExecutor<'_>| {
        takes.fetch_add(1, Ordering::SeqCst);
        db.change(ADD, &[]).await
    };
    for (kind, expected) in [("a statement", 1), ("a transaction", 3)] {
        takes.store(0, Ordering::SeqCst);
        writer.batch_execute("BEGIN").await.unwrap();
        writer.execute(ADD, &[]).await.unwrap();
        let (changed, ()) = match expected {
            1 => tokio::join!(async { repeat!(pool.run(add)) }, commit_under(&writer)),
            _ => tokio::join!(async { repeat!(pool.transact(add)) }, commit_under(&writer)),
        };
        assert_eq!(changed.unwrap(), 1, "{kind}");
        assert_eq!(takes.load(Ordering::SeqCst), 2, "{kind}");
        let n: i64 = writer
            .query_one("SELECT n FROM row", &[])
            .await
            .unwrap()
            .get(0);
        assert_eq!(n, expected + 1, "{kind}");
    }
}

#[tokio::test]
async fn of_two_steps_in_a_deadlock_both_are_taken() {
    let server = Server::start_with(Durability::Relaxed, &["deadlock_timeout=20ms"]).unwrap();
    let (writer, pool) = (client(&server).await, serializable(&server));
    let make = "CREATE TABLE rows (id BIGINT, n BIGINT); INSERT INTO rows VALUES (1, 0), (2, 0)";
    writer.batch_execute(make).await.unwrap();
    let (takes, both_hold_one) = (AtomicUsize::new(0), Barrier::new(2));
    let add_to = async |first: i64, second: i64| {
        let add = async |db: &PostgresExecutor<'_>| {
            const ADD: &str = "UPDATE rows SET n = n + 1 WHERE id = $1";
            db.change(ADD, parameters![first]).await?;
            if takes.fetch_add(1, Ordering::SeqCst) < 2 {
                both_hold_one.wait().await;
            }
            db.change(ADD, parameters![second]).await
        };
        repeat!(pool.transact(add))
    };
    let (one, other) = tokio::join!(add_to(1, 2), add_to(2, 1));
    assert_eq!((one.unwrap(), other.unwrap()), (1, 1));
    assert!(takes.load(Ordering::SeqCst) > 2, "one of them was undone");
    let select = "SELECT count(*) FROM rows WHERE n = 2";
    let count: i64 = writer.query_one(select, &[]).await.unwrap().get(0);
    assert_eq!(count, 2);
}

#[tokio::test]
async fn a_step_that_is_undone_each_time_fails_in_the_end() {
    let server = Server::start(Durability::Relaxed).unwrap();
    let pool = serializable(&server);
    let takes = AtomicUsize::new(0);
    let raise = async |db: &PostgresExecutor<'_>| {
        takes.fetch_add(1, Ordering::SeqCst);
        let raise = "DO $$ BEGIN RAISE 'undone' USING ERRCODE = '40001'; END $$";
        Ok(db.client.batch_execute(raise).await?)
    };
    let error = repeat!(pool.transact(raise)).unwrap_err();
    assert_eq!(error.to_string(), "the store failed: undone");
    assert_eq!(takes.load(Ordering::SeqCst), 5);
    let after = pool.transact(async |db| Ok(db.client.batch_execute("SELECT 1").await?));
    after.await.expect("the connection is as before");
}

#[tokio::test]
async fn a_frozen_server_hides_none_behind_it_and_is_waited_for_once() {
    let server = Server::start(Durability::Relaxed).unwrap();
    // The system accepts for it, and it says nothing.
    let frozen = TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts =
        server
            .url("postgres")
            .replacen('@', &format!("@{},", frozen.local_addr().unwrap()), 1);
    let pool = pool(&format!("{hosts}?target_session_attrs=read-write"));
    let first = pool
        .connections
        .get()
        .await
        .expect("the second host serves");
    let second = pool.connections.get().await.expect("it serves again");
    drop((first, second));
    frozen.set_nonblocking(true).unwrap();
    assert!(frozen.accept().is_ok(), "it was tried");
    assert!(frozen.accept().is_err(), "it was tried again");
}

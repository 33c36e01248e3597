//! A PostgreSQL server whose clock differs, that refuses the broker's password, or whose
//! tables are of another version.

use crate::installation::Installation;
use crate::process::BrokerCommand;
use crate::storage::postgres::Schema;

// Threats: L3.
#[tokio::test]
async fn a_broker_does_not_start_on_a_database_whose_clock_is_an_hour_off() {
    let database = Schema::created().await;
    // PostgreSQL finds this function before its own.
    database
        .execute(&format!(
            "CREATE FUNCTION {}.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
             $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$",
            database.name()
        ))
        .await;
    let url = database.url() + ",pg_catalog";
    let installation = Installation::with_store(&url);
    for command in ["check", "serve"] {
        let output = BrokerCommand::with(command, &installation.config).output();
        output.failed("s behind the database's, and may differ by 30 s");
        output.failed("set the clocks right");
    }
}

const RIGHT: &str = "Swordfish-7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
const WRONG: &str = "Anchovies-7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";

#[tokio::test]
async fn a_wrong_password_is_one_line_and_no_password_is_shown() {
    let schema = Schema::with_password(RIGHT).await;
    let output = Installation::with_store(&schema.url_with(RIGHT)).check();
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(!output.out.contains(RIGHT), "{}", output.out);
    let output = Installation::with_store(&schema.url_with(WRONG)).check();
    for part in [
        "cannot open postgres://[redacted]",
        "password authentication failed",
        "store.url",
    ] {
        output.failed(part);
    }
    assert!(!output.err.contains(WRONG) && !output.out.contains(WRONG));
}

#[tokio::test]
async fn a_broker_with_a_wrong_password_answers_503_until_it_is_right() {
    let schema = Schema::with_password(RIGHT).await;
    let served = Installation::with_store(&schema.url_with(WRONG)).serve();
    let answers = [served.get("/readyz").await, served.session(1).await];
    for answer in answers {
        answer.is_refusal(503);
        assert!(!answer.text().contains(WRONG));
    }
    served.logged("password authentication failed");

    schema.change_password(WRONG).await;
    assert_eq!(served.get("/readyz").await.status, 200);
    assert_eq!(served.session(1).await.status, 200);
    let log = served.kill();
    assert!(!log.contains(WRONG), "{log}");
}

#[tokio::test]
async fn a_newer_database_is_left_alone_and_reported() {
    let schema = Schema::created().await;
    schema
        .execute("CREATE TABLE broker_schema (version BIGINT NOT NULL)")
        .await;
    schema.execute("INSERT INTO broker_schema VALUES (2)").await;
    let installation = Installation::with_store(&schema.url());
    for command in ["check", "serve"] {
        let output = BrokerCommand::with(command, &installation.config).output();
        let line = output.err.lines().last().unwrap();
        assert_eq!(output.code, Some(1), "{}", output.err);
        assert!(
            line.starts_with("broker: cannot open postgres://"),
            "{line}"
        );
        assert!(line.contains("the tables of version 2"), "{line}");
    }
    assert_eq!(schema.tables().await, ["broker_schema"]);
}

#[tokio::test]
async fn a_broker_whose_tables_became_newer_is_not_ready() {
    let schema = Schema::created().await;
    let served = Installation::with_store(&schema.url()).serve();
    assert_eq!(served.get("/readyz").await.status, 200);
    schema.execute("UPDATE broker_schema SET version = 2").await;
    served.get("/readyz").await.is_refusal(503);
    served.logged("the tables of version 2");
    schema.execute("UPDATE broker_schema SET version = 1").await;
    assert_eq!(served.get("/readyz").await.status, 200);
}

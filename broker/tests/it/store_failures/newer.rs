//! Tables that another version or another program created.

use crate::installation::Installation;

#[test]
fn the_tables_of_a_newer_version_or_of_another_program_are_left_alone_and_reported() {
    let newer = "CREATE TABLE logins (another INTEGER); PRAGMA user_version = 2";
    for (tables, message) in [
        (newer, "the tables of version 2, this broker those of 1"),
        (newer, "store.url"),
        (
            "CREATE TABLE recipes (name TEXT)",
            "the tables of another program",
        ),
    ] {
        let installation = Installation::new();
        installation.connect().execute_batch(tables).unwrap();
        let before = installation.scratch.read_all("broker.db");
        installation.assert_refused(message);
        assert_eq!(installation.scratch.read_all("broker.db"), before);
    }
}

#[tokio::test]
async fn a_broker_whose_tables_became_newer_is_not_ready() {
    let installation = Installation::with_tables();
    let served = installation.serve();
    assert_eq!(served.get("/readyz").await.status, 200);
    let other = installation.connect();
    other.pragma_update(None, "user_version", 2).unwrap();
    served.get("/readyz").await.is_refusal(503);
    assert_eq!(served.get("/livez").await.status, 200);
    served.logged("the tables of version 2");
    other.pragma_update(None, "user_version", 1).unwrap();
    assert_eq!(served.get("/readyz").await.status, 200);
}

#[cfg(feature = "postgres")]
mod on_postgres {
    use super::*;
    use crate::command::BrokerCommand;
    use crate::storage::postgres::Schema;

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
}

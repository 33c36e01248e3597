//! Clocks of the database and the broker that differ.

use crate::command::BrokerCommand;
use crate::installation::Installation;
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

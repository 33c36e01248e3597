//! A file that another process has locked. Each test waits for as long as the broker waits
//! for a lock: 5 seconds.

use rusqlite::Connection;

use crate::command::BrokerCommand;
use crate::installation::Installation;

/// Locks the database until the returned transaction is dropped.
fn lock(file: &Connection) -> rusqlite::Transaction<'_> {
    file.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
    rusqlite::Transaction::new_unchecked(file, rusqlite::TransactionBehavior::Exclusive).unwrap()
}

#[test]
fn a_broker_does_not_start_on_a_file_that_another_process_locks() {
    let installation = Installation::with_tables();
    let other = installation.connect();
    let lock = lock(&other);
    std::thread::scope(|scope| {
        for command in ["check", "serve"] {
            let config = &installation.config;
            scope.spawn(move || {
                let output = BrokerCommand::with(command, config).output();
                output.failed("broker.db: the store failed: database is locked");
                output.failed("another process holds it");
            });
        }
    });
    drop(lock);
    assert_eq!(installation.check().code, Some(0));
}

#[tokio::test]
async fn a_broker_that_is_locked_out_answers_503_and_goes_on_afterwards() {
    let installation = Installation::with_tables();
    let served = installation.serve();
    assert_eq!(served.session(1).await.status, 200);
    let other = installation.connect();
    let lock = lock(&other);
    let (one, another) = tokio::join!(served.session(2), served.get("/readyz"));
    one.is_refusal(503);
    another.is_refusal(503);
    served.logged("another process holds it");
    drop(lock);
    assert_eq!(served.session(2).await.status, 200, "its key is not taken");
    served.session(1).await.is_refusal(400);
}

//! A file that another process holds. Each of these waits as long as a broker
//! has patience with the other: 5 seconds.

use rusqlite::Connection;

use super::Place;

/// Nobody else writes until this is dropped.
fn hold(file: &Connection) -> rusqlite::Transaction<'_> {
    file.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
    rusqlite::Transaction::new_unchecked(file, rusqlite::TransactionBehavior::Exclusive).unwrap()
}

#[test]
fn a_broker_does_not_start_on_a_file_that_another_process_holds() {
    let place = Place::prepared();
    let other = place.connect();
    let held = hold(&other);
    std::thread::scope(|at_once| {
        for command in ["check", "serve"] {
            let config = &place.config;
            at_once.spawn(move || {
                let said = super::BrokerCommand::with(command, config).output();
                said.failed("broker.db: the store failed: database is locked");
                said.failed("another process holds it");
            });
        }
    });
    drop(held);
    assert_eq!(place.check().code, Some(0));
}

#[tokio::test]
async fn a_broker_that_is_locked_out_answers_503_and_goes_on_afterwards() {
    let place = Place::prepared();
    let served = place.serve();
    assert_eq!(served.session(1).await.status, 200);
    let other = place.connect();
    let held = hold(&other);
    let (one, another) = tokio::join!(served.session(2), served.get("/readyz"));
    one.is_refusal(503);
    another.is_refusal(503);
    served.logged("another process holds it");
    drop(held);
    assert_eq!(served.session(2).await.status, 200, "its key is not taken");
    served.session(1).await.is_refusal(400);
}

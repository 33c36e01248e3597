//! No room. A limit on the size of files stands in for a full disk: it needs no
//! rights, it meets the database and its log alike, and it brings a signal along
//! that would end the process.

use std::process::Command;

use serde_json::json;

use super::Place;
use crate::broker_process::BrokerProcess;
use crate::command::BrokerCommand;
use crate::test_broker::result_body;

/// Room for the tables and a few logins in the write-ahead log.
const LITTLE_KIB: u32 = 200;

#[test]
fn a_broker_without_room_for_its_tables_does_not_start_and_leaves_nothing_by_halves() {
    let place = Place::new();
    for kib in [1, 2, 4, 8, 16, 32] {
        for command in ["check", "serve"] {
            let said = BrokerCommand::limited_to_kib(kib, command, &place.config).output();
            said.failed("broker.db: the store failed: ");
            said.failed("check whether the disk is full");
        }
        assert_eq!(place.check().code, Some(0), "after {kib} KiB");
        place.scratch.remove_all("broker.db");
    }
}

/// Opens logins 0, 1, … until there is no room for one more; how many there are.
async fn fill(served: &BrokerProcess) -> u8 {
    for key in 0..=u8::MAX {
        let answer = served.session(key).await;
        if answer.status != 200 {
            answer.is_refusal(503);
            return key;
        }
    }
    panic!("there is always room");
}

async fn all_are_pending(served: &BrokerProcess, keys: u8) {
    for key in 0..keys {
        let result = served.post("/v1/login/result", &result_body(key)).await;
        result.is_json(200, &json!({ "status": "pending" }));
    }
}

fn lift_the_limit(served: &BrokerProcess) {
    let lifted = Command::new("prlimit")
        .args([
            "--fsize=unlimited:",
            "--pid",
            &served.process_id().to_string(),
        ])
        .status()
        .unwrap();
    assert!(lifted.success());
}

#[tokio::test]
async fn a_broker_without_room_answers_503_and_goes_on_when_there_is_some() {
    let place = Place::prepared();
    let served = BrokerProcess::start(BrokerCommand::limited_to_kib(
        LITTLE_KIB,
        "serve",
        &place.config,
    ));
    let full_at = fill(&served).await;
    assert!(full_at > 0, "the first few fit");
    served.session(full_at).await.is_refusal(503);
    all_are_pending(&served, full_at).await;
    served.logged("check whether the disk is full");

    lift_the_limit(&served);
    assert_eq!(served.session(full_at).await.status, 200, "not taken");
    all_are_pending(&served, full_at + 1).await;
}

#[tokio::test]
async fn whatever_was_acknowledged_before_the_disk_was_full_is_there_after_a_crash() {
    let place = Place::prepared();
    let served = BrokerProcess::start(BrokerCommand::limited_to_kib(
        LITTLE_KIB,
        "serve",
        &place.config,
    ));
    let full_at = fill(&served).await;
    served.kill();

    let served = place.serve();
    all_are_pending(&served, full_at).await;
    assert_eq!(served.session(full_at).await.status, 200, "not taken");
}

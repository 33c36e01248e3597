//! A full disk, imitated by a limit on the size of files. The limit needs no privileges,
//! applies to the database and its log, and brings a signal that would end the process.

use std::process::Command;

use serde_json::json;

use crate::broker_process::BrokerProcess;
use crate::command::BrokerCommand;
use crate::installation::Installation;
use crate::test_broker::result_body;

/// Space for the tables and a few logins in the write-ahead log.
const LITTLE_KIB: u32 = 200;

#[test]
fn without_space_for_its_tables_a_broker_does_not_start_and_leaves_none() {
    let installation = Installation::new();
    for kib in [1, 2, 4, 8, 16, 32] {
        for command in ["check", "serve"] {
            let output = BrokerCommand::limited_to_kib(kib, command, &installation.config).output();
            output.failed("broker.db: the store failed: ");
            output.failed("check whether the disk is full");
        }
        assert_eq!(installation.check().code, Some(0), "after {kib} KiB");
        installation.scratch.remove_all("broker.db");
    }
}

/// Opens logins 0, 1, … until there is no space for one more. Returns their number.
async fn fill(served: &BrokerProcess) -> u8 {
    for key in 0..=u8::MAX {
        let answer = served.session(key).await;
        if answer.status != 200 {
            answer.is_refusal(503);
            return key;
        }
    }
    panic!("the disk is never full");
}

async fn assert_all_pending(served: &BrokerProcess, keys: u8) {
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
async fn a_broker_answers_503_while_the_disk_is_full_and_goes_on_afterwards() {
    let installation = Installation::with_tables();
    let served = BrokerProcess::start(BrokerCommand::limited_to_kib(
        LITTLE_KIB,
        "serve",
        &installation.config,
    ));
    let full_at = fill(&served).await;
    assert!(full_at > 0, "the first few fit");
    served.session(full_at).await.is_refusal(503);
    // It writes every few seconds at most.
    let mut answers = 0;
    while served.get("/readyz").await.status == 200 {
        answers += 1;
        assert!(answers < 100_000, "it is ready without space");
    }
    assert_all_pending(&served, full_at).await;
    served.logged("check whether the disk is full");

    lift_the_limit(&served);
    assert_eq!(served.get("/readyz").await.status, 200);
    assert_eq!(served.session(full_at).await.status, 200, "not taken");
    assert_all_pending(&served, full_at + 1).await;
}

// Threats: L8.
#[tokio::test]
async fn every_login_acknowledged_before_the_disk_was_full_survives_a_crash() {
    let installation = Installation::with_tables();
    let served = BrokerProcess::start(BrokerCommand::limited_to_kib(
        LITTLE_KIB,
        "serve",
        &installation.config,
    ));
    let full_at = fill(&served).await;
    served.kill();

    let served = installation.serve();
    assert_all_pending(&served, full_at).await;
    assert_eq!(served.session(full_at).await.status, 200, "not taken");
}

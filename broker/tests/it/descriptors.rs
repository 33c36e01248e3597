//! The limit on open files, which bounds the connections of a broker.

use crate::broker_process::BrokerProcess;
use crate::command::BrokerCommand;
use crate::installation::Installation;

/// The soft and the hard limit on open files of a process.
fn limits_of(process_id: u32) -> (u64, u64) {
    let limits = std::fs::read_to_string(format!("/proc/{process_id}/limits")).unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let mut words = line.unwrap().split_whitespace();
    let mut number = || words.next().unwrap().parse().unwrap();
    (number(), number())
}

#[tokio::test]
async fn a_broker_raises_its_limit_on_open_files_to_the_highest_allowed() {
    let installation = Installation::new();
    let broker = BrokerCommand::limited_to_descriptors(100, "serve", &installation.config);
    let broker = BrokerProcess::start(broker);
    let (own, highest) = limits_of(broker.process_id());
    assert!(highest > 100, "the hard limit is above the soft one");
    assert_eq!(own, highest);
}

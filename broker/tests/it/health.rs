//! `broker health`, which asks a running broker.

use crate::broker_process::BrokerProcess;
use crate::command::{BrokerCommand, CommandOutput};
use crate::installation::Installation;

/// The answer about the broker at `address` of an installation.
fn health_at(installation: &Installation, address: &str) -> CommandOutput {
    BrokerCommand::with("health", &installation.config)
        .env("BROKER_BIND", address)
        .output()
}

#[test]
fn a_broker_that_serves_is_healthy() {
    let installation = Installation::with_tables();
    let broker = installation.serve();
    let output = health_at(&installation, broker.address());
    assert_eq!((output.code, output.out.as_str()), (Some(0), "ready\n"));
}

#[test]
fn a_broker_without_its_store_is_not_healthy() {
    let installation = Installation::with_store("postgres://broker@127.0.0.1:1/broker");
    let broker = installation.serve();
    health_at(&installation, broker.address()).failed("/readyz answers 503");
}

#[test]
fn a_broker_that_has_ended_is_not_healthy() {
    let installation = Installation::with_tables();
    let broker = installation.serve();
    let address = broker.address().to_owned();
    broker.terminate();
    assert_eq!(broker.ended(), Some(0));
    health_at(&installation, &address).failed("no server answers at");
}

#[test]
fn a_broker_that_terminates_tls_is_asked_over_tls() {
    let (_scratch, config) = crate::tls::config();
    let broker = BrokerProcess::start(BrokerCommand::with("serve", &config));
    let health = BrokerCommand::with("health", &config).env("BROKER_BIND", broker.address());
    assert_eq!(health.output().code, Some(0));
}

#[test]
fn a_broker_on_any_free_port_cannot_be_asked() {
    health_at(&Installation::new(), "127.0.0.1:0").failed("port 0");
}

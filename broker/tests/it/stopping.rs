//! The program stops by a signal while a provider call is in progress.

use std::time::Duration;

use rocket::futures::future::join_all;

use crate::broker_process::BrokerProcess;
use crate::installation::Installation;
use crate::slow_github::{SlowGitHub, coming_back};
use crate::test_broker::{CALLBACK, parameter, token_body};

/// A broker with this grace period.
fn serve(
    github: &SlowGitHub,
    installation: &Installation,
    shutdown_seconds: &str,
) -> BrokerProcess {
    let broker = github.broker(installation);
    BrokerProcess::start(broker.env("BROKER_SHUTDOWN_SECONDS", shutdown_seconds))
}

/// Waits until it accepts no more connections, for at most 20 seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "a broker that does not stop is to fail its test"
)]
async fn wait_until_stopping(address: impl tokio::net::ToSocketAddrs) {
    let stopping = async {
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, stopping).await.unwrap();
}

#[tokio::test]
async fn sigterm_and_sigint_let_a_callback_in_progress_finish() {
    tokio::join!(
        lets_a_callback_finish("TERM"),
        lets_a_callback_finish("INT")
    );
}

async fn lets_a_callback_finish(signal: &str) {
    let (installation, github) = (Installation::new(), SlowGitHub::start().await);
    // Longer than this test waits.
    let broker = serve(&github, &installation, "300");
    let back = tokio::spawn(coming_back(&broker, "code=upstream-code").await.send());
    github.wait_for_request().await;
    broker.signal(signal);
    wait_until_stopping(broker.address()).await;
    github.permits.add_permits(1);
    let returned = back.await.unwrap();
    assert_eq!(returned.status, 303, "{returned:?}");
    let returned = returned.location().unwrap();
    assert!(returned.starts_with(CALLBACK), "{returned}");
    assert_eq!(broker.ended(), Some(0));

    let code = parameter(returned, "code").unwrap();
    let next = serve(&github, &installation, "300");
    let token = next.post("/v1/token", &token_body(&code)).await;
    assert_eq!(token.status, 200, "the commit is durable: {token:?}");
}

/// While Rocket accepts connections, it may stop with requests in progress.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sigterm_amid_new_connections_lets_a_callback_in_progress_finish() {
    join_all((0..12).map(async |_| {
        // Its own: another broker's request must not be taken for this one's.
        let (installation, github) = (Installation::new(), SlowGitHub::start().await);
        let broker = serve(&github, &installation, "300");
        let back = tokio::spawn(coming_back(&broker, "code=upstream-code").await.try_send());
        github.wait_for_request().await;
        let connections =
            (0..4).map(|_| tokio::spawn(wait_until_stopping(broker.address().to_owned())));
        let connections: Vec<_> = connections.collect();
        broker.terminate();
        join_all(connections).await;
        github.permits.add_permits(1);
        let returned = back.await.unwrap();
        assert_eq!(returned.expect("a response").status, 303);
    }))
    .await;
}

#[tokio::test]
async fn the_configuration_sets_the_grace_period() {
    let mut config = broker::config::Config::load(&Installation::new().config).unwrap();
    assert_eq!(config.shutdown_seconds, 25);
    config.shutdown_seconds = 77;
    config.store.url = broker::store::StoreUrl::SqliteMemory;
    let broker = broker::Broker::assemble(config, broker::Dependencies::default()).unwrap();
    let rocket = broker.rocket().ignite().await.unwrap();
    assert_eq!(rocket.config().shutdown.grace, 77);
}

#[tokio::test]
async fn a_callback_is_abandoned_after_the_grace_period() {
    let (installation, github) = (Installation::new(), SlowGitHub::start().await);
    let broker = serve(&github, &installation, "1");
    let back = tokio::spawn(coming_back(&broker, "code=upstream-code").await.try_send());
    github.wait_for_request().await;
    broker.terminate();
    assert_eq!(broker.ended(), Some(0));
    assert!(back.await.unwrap().is_err(), "there is no response");
}

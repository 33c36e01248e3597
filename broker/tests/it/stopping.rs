//! The real program, told to stop while a provider takes its time.

use std::time::Duration;

use rocket::futures::future::join_all;

use crate::broker_process::BrokerProcess;
use crate::slow_github::{SlowGitHub, coming_back};
use crate::test_broker::{CALLBACK, parameter, token_body};
use crate::trouble::Place;

/// A broker that may take so long to stop.
fn serve(github: &SlowGitHub, place: &Place, shutdown_seconds: &str) -> BrokerProcess {
    let broker = github.broker(place);
    BrokerProcess::start(broker.env("BROKER_SHUTDOWN_SECONDS", shutdown_seconds))
}

/// Waits until it accepts no connection any more, but not for ever.
#[expect(
    clippy::disallowed_methods,
    reason = "a broker that does not stop is to fail its test"
)]
async fn is_stopping(address: impl tokio::net::ToSocketAddrs) {
    let stopping = async {
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, stopping).await.unwrap();
}

#[tokio::test]
async fn sigterm_lets_a_callback_in_progress_finish() {
    sends_home_who_is_on_the_way("TERM").await;
}

#[tokio::test]
async fn sigint_lets_a_callback_in_progress_finish() {
    sends_home_who_is_on_the_way("INT").await;
}

async fn sends_home_who_is_on_the_way(signal: &str) {
    let (place, github) = (Place::new(), SlowGitHub::start().await);
    // Longer than this test waits for its end.
    let broker = serve(&github, &place, "300");
    let back = tokio::spawn(coming_back(&broker, "code=upstream-code").await.send());
    github.is_asked().await;
    broker.signal(signal);
    is_stopping(broker.address()).await;
    github.may_answer.add_permits(1);
    let home = back.await.unwrap();
    assert_eq!(home.status, 303, "{home:?}");
    let home = home.location().unwrap();
    assert!(home.starts_with(CALLBACK), "{home}");
    assert_eq!(broker.ended(), Some(0));

    let code = parameter(home, "code").unwrap();
    let next = serve(&github, &place, "300");
    let token = next.post("/v1/token", &token_body(&code)).await;
    assert_eq!(token.status, 200, "what it committed stands: {token:?}");
}

/// While it accepts connections, Rocket may stop with requests under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sigterm_amid_new_connections_lets_a_callback_in_progress_finish() {
    let github = SlowGitHub::start().await;
    let places: Vec<_> = (0..12).map(|_| Place::new()).collect();
    join_all(places.iter().map(async |place| {
        let broker = serve(&github, place, "300");
        let back = tokio::spawn(coming_back(&broker, "code=upstream-code").await.try_send());
        github.is_asked().await;
        let connections = (0..4).map(|_| tokio::spawn(is_stopping(broker.address().to_owned())));
        let connections: Vec<_> = connections.collect();
        broker.terminate();
        join_all(connections).await;
        github.may_answer.add_permits(1);
        let home = back.await.unwrap();
        assert_eq!(home.expect("a response").status, 303);
    }))
    .await;
}

#[tokio::test]
async fn the_configuration_sets_the_grace_period() {
    let mut config = broker::config::Config::load(&Place::new().config).unwrap();
    assert_eq!(config.shutdown_seconds, 25);
    config.shutdown_seconds = 77;
    config.store.url = broker::store::StoreUrl::SqliteMemory;
    let broker = broker::Broker::assemble(config, broker::Dependencies::default()).unwrap();
    let rocket = broker.rocket().ignite().await.unwrap();
    assert_eq!(rocket.config().shutdown.grace, 77);
}

#[tokio::test]
async fn a_callback_is_abandoned_after_the_grace_period() {
    let (place, github) = (Place::new(), SlowGitHub::start().await);
    let broker = serve(&github, &place, "1");
    let back = tokio::spawn(coming_back(&broker, "code=upstream-code").await.try_send());
    github.is_asked().await;
    broker.terminate();
    assert_eq!(broker.ended(), Some(0));
    assert!(back.await.unwrap().is_err(), "nobody answered");
}

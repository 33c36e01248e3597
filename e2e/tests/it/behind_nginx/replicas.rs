//! Several brokers behind one nginx.

use super::nginx::{Nginx, Ports};
use super::proxied_brokers::ProxiedBrokers;
use super::stub_broker::{NO_CONTENT, StubBroker, StubResponse};
use testkit::login::{FLOWS, PROVIDERS};

#[tokio::test]
async fn a_user_signs_in_by_either_flow_whichever_broker_serves_a_request() {
    let front = ProxiedBrokers::of_two().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            front.sign_in(flow, provider).await.is_ada(provider);
        }
    }
    let brokers = front.brokers();
    let written = front.stop();
    for broker in brokers {
        let line = format!(r#""broker":"{broker}","upstream":"303""#);
        assert!(written.access.contains(&line), "{}", written.access);
    }
}

// Threats: B2, B11.
#[tokio::test]
async fn a_callback_whose_broker_dies_is_not_sent_to_another() {
    let brokers = [
        StubBroker::answering(StubResponse::Closes).await,
        StubBroker::answering(StubResponse::Closes).await,
    ];
    let nginx = Nginx::start(Ports::draw(), &brokers.each_ref().map(|it| it.address), &[]);
    let callback = nginx.url("/callback/google?code=one&state=two");
    let answer = nginx.http().get(callback).send().await;
    assert_eq!(answer.status, 503);
    let requests: Vec<_> = brokers.iter().flat_map(StubBroker::heads).collect();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("get /callback/google?code=one&state=two http/1.1\r\n"));
}

#[tokio::test]
async fn after_a_broker_dies_the_next_request_is_served_by_another() {
    let brokers = [
        StubBroker::answering(StubResponse::Closes).await,
        StubBroker::answering(NO_CONTENT).await,
    ];
    let nginx = Nginx::start(
        Ports::draw(),
        &brokers.each_ref().map(|it| it.address),
        // Each of several workers would find out for itself.
        &[("worker_processes auto;", "worker_processes 1;")],
    );
    let mut statuses = Vec::new();
    for _ in 0..6 {
        let answer = nginx.http().get(nginx.url("/livez")).send();
        statuses.push(answer.await.status);
    }
    let failed = statuses.iter().filter(|status| **status == 503).count();
    assert_eq!(failed, 1, "{statuses:?}");
    assert_eq!(brokers[1].heads().len(), 5, "{statuses:?}");
}

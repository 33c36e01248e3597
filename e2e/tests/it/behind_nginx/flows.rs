//! Both flows through nginx.

use super::nginx::{Nginx, Ports};
use super::proxied_brokers::ProxiedBrokers;
use super::stub_broker::{StubBroker, StubResponse};
use crate::login::{FLOWS, PROVIDERS};

#[tokio::test]
async fn a_user_signs_in_through_nginx_by_either_flow() {
    let front = ProxiedBrokers::start().await;
    for provider in PROVIDERS {
        for flow in FLOWS {
            front.sign_in(flow, provider).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn an_answer_of_the_broker_is_passed_on_as_it_is() {
    // An address that nginx would take for its own, and text that it could compress.
    let broker = StubBroker::answering(StubResponse::This(
        "HTTP/1.1 200 OK\r\nLocation: http://broker/back\r\n\
         Content-Type: text/html\r\nStrict-Transport-Security: max-age=1\r\n\
         Cache-Control: no-store\r\nContent-Length: 26\r\nConnection: close\r\n\r\n\
         abcdefghijklmnopqrstuvwxyz",
    ));
    let nginx = Nginx::start(Ports::draw(), &[broker.await.address], &[]);
    let request = nginx.http().get(nginx.url("/authorize"));
    let response = request.header("Accept-Encoding", "gzip").send().await;
    assert_eq!((response.status, response.text().len()), (200, 26));
    let mut headers: Vec<_> = response
        .headers
        .iter()
        .filter(|(name, _)| *name != "date")
        .map(|(name, value)| (name.as_str(), value.to_str().expect("it is ASCII")))
        .collect();
    headers.sort_unstable();
    let all = [
        ("cache-control", "no-store"),
        ("connection", "keep-alive"),
        ("content-length", "26"),
        ("content-type", "text/html"),
        ("location", "http://broker/back"),
        ("server", "nginx"),
        ("strict-transport-security", "max-age=1"),
    ];
    assert_eq!(headers, all);
}

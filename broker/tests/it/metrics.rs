//! The program's metrics after known logins.

use testkit::http::{Http, Response};

use crate::broker_process::BrokerProcess;
use crate::command::BrokerCommand;
use crate::installation::Installation;
use crate::slow_github::{SlowGitHub, coming_back};
use crate::test_broker::{
    ADA_SECRET, authorize_path, session_body, state, token_body, verifier, with,
};

/// A broker with metrics, and their URL.
fn with_metrics(broker: BrokerCommand) -> (BrokerProcess, String) {
    let broker = BrokerProcess::start(broker.env("BROKER_OPERATOR__BIND", "127.0.0.1:0"));
    let line = broker.logged("serving metrics");
    let (_, address) = line.rsplit_once("address=").unwrap();
    let url = format!("http://{address}/metrics");
    (broker, url)
}

async fn read(url: &str) -> Response {
    Http::new().get(url).send().await
}

// Threats: M7.
#[tokio::test]
async fn metrics_count_and_time_what_happens_and_contain_no_value_from_a_request() {
    let (installation, github) = (Installation::new(), SlowGitHub::start().await);
    // Port 1 of loopback: closed on any sane machine.
    let broker = github
        .broker(&installation)
        .env("BROKER_UPSTREAM__GOOGLE__CLIENT_ID", "google")
        .env("BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET", "GOCSPX")
        .env("BROKER_UPSTREAM__GOOGLE__ISSUER", "http://127.0.0.1:1");
    let (broker, url) = with_metrics(broker);
    github.permits.add_permits(2);
    for _ in 0..2 {
        let returned = coming_back(&broker, "code=upstream-code").await;
        assert_eq!(returned.send().await.status, 303);
    }
    let declined = coming_back(&broker, "error=access_denied").await;
    assert_eq!(declined.send().await.status, 303);
    let unknown_client = with(session_body(1), "client_id", "prj_nobody");
    let session = broker.post("/v1/login/session", &unknown_client).await;
    session.is_refusal(401);
    broker.session(1).await;
    broker.session(1).await.is_refusal(400);
    broker.get("/a-path-of-mine?a=query").await.is_refusal(404);
    broker.get("/login/a-handle-of-mine").await;
    broker.post("/v1/token", &token_body(&verifier())).await;
    for provider in ["google", "nobody"] {
        let path = authorize_path().replace("github", provider);
        assert_eq!(broker.get(&path).await.status, 303);
    }

    let metrics = read(&url).await;
    assert_eq!(metrics.status, 200);
    assert_eq!(
        metrics.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let lines = r#"
        broker_logins_total{provider="github",outcome="succeeded"} 2
        broker_logins_total{provider="github",outcome="upstream.denied"} 1
        broker_logins_total{provider="google",outcome="upstream.unavailable"} 1
        broker_upstream_calls_total{provider="google",operation="GET discovery",outcome="upstream.unavailable"} 1
        broker_refusals_total{rule="provider.known"} 1
        broker_visits_total{provenance="no_metadata"} 5
        broker_steps_total{step="upstream_login_consumed"} 3
        broker_steps_total{step="code_issued"} 2
        broker_steps_total{step="opened"} 1
        broker_refusals_total{rule="client.recognised"} 1
        broker_refusals_total{rule="session_key.fresh"} 1
        broker_refusals_total{rule="handle.known"} 1
        broker_requests_total{operation="POST /v1/login/session",status="401"} 1
        broker_requests_total{operation="GET (no route)",status="404"} 1
        broker_upstream_calls_total{provider="github",operation="POST token",outcome="2xx"} 2
        broker_upstream_call_seconds_count{provider="github",operation="POST token"} 2
        broker_store_step_seconds_count{step="consume_upstream_login"} 3
        broker_store_step_seconds_count{step="issue"} 2
        broker_store_step_seconds_count{step="open"} 2
    "#;
    let text = metrics.text();
    for line in lines.trim().lines().map(str::trim) {
        assert!(text.lines().any(|it| it == line), "{line}\nin\n{text}");
    }
    let sent = "prj_ada upstream-code a-path-of-mine query a-handle-of-mine gho_token Lovelace";
    let (state, verifier) = (state(), verifier());
    for sent in sent.split(' ').chain([ADA_SECRET, &state, &verifier]) {
        assert!(!text.contains(sent), "{sent}\nin\n{text}");
    }
    assert!(text.contains("\nbroker_delay_seconds "));
    assert!(text.ends_with("# EOF\n"), "{metrics:?}");
}

#[tokio::test]
async fn metrics_are_served_at_the_operator_address_and_nothing_else_is() {
    let installation = Installation::new();
    let (broker, url) = with_metrics(BrokerCommand::with("serve", &installation.config));
    broker.get("/metrics").await.is_refusal(404);
    let providers = url.replace("/metrics", "/api/providers");
    assert_eq!(read(&providers).await.status, 404);
    broker.terminate();
    assert_eq!(broker.ended(), Some(0));
}

#[test]
fn a_taken_operator_port_fails_with_one_line() {
    let installation = Installation::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let broker =
        BrokerCommand::with("serve", &installation.config).env("BROKER_OPERATOR__BIND", &address);
    let output = broker.output();
    assert_eq!(output.code, Some(1));
    let line = format!("broker: cannot listen on {address}: ");
    let last = output.err.lines().last().unwrap();
    assert!(last.starts_with(&line), "{}", output.err);
    assert!(last.ends_with("BROKER_OPERATOR__BIND"), "{}", output.err);
}

//! A login as operators see it: the audit events, under one id; their lines in the
//! program's log, in both formats; and the program's metrics.

use broker::audit::{Event, Party};
use contract::{ClientId, Provider, Rule};
use serde_json::{Value, json};
use testkit::http::{Http, Response};

use crate::fake_provider::FakeProvider;
use crate::installation::Installation;
use crate::process::BrokerProcess;
use crate::test_broker::{
    ADA_SECRET, Browser, CALLBACK, TestBroker, authorize_path, session_body, state, token_body,
    verifier, with,
};

/// An event as a line: sender, receiver, operation, status, steps and rule.
fn line(event: &Event) -> String {
    let steps: Vec<_> = event.steps.iter().map(|step| step.name()).collect();
    let (from, to) = (event.from.name(), event.to.name());
    let status = event.status.unwrap_or_default();
    let rule = event.rule.map_or("", Rule::id);
    let line = format!(
        "{from} to {to}: {} {status} [{}] {rule}",
        event.operation,
        steps.join(" ")
    );
    line.trim_end().to_owned()
}

fn lines(events: &[Event]) -> Vec<String> {
    let mut lines: Vec<_> = events.iter().map(line).collect();
    // Two concurrent calls may end in either order.
    for calls in lines.chunk_by_mut(|one, next| [one, next].iter().all(|it| is_of_api(it))) {
        calls.sort();
    }
    lines
}

fn is_of_api(line: &str) -> bool {
    line.starts_with("broker to github: GET ")
}

/// Asserts that the events are these, all under one id, and that a call of the callback from
/// GitHub has the id of its request.
#[track_caller]
fn is_logged(broker: &TestBroker, expected: &str) {
    let events = broker.events();
    let expected: Vec<_> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(lines(&events), expected);
    let login = events[0].login.clone();
    assert!(login.is_some());
    let callback = events.iter().find(|it| it.operation.contains("callback"));
    for event in &events {
        assert_eq!(event.login, login, "{}", event.operation);
        // A revocation reads nothing: it does not learn whose token it was.
        let expected = (event.operation != "POST /v1/revoke").then_some("prj_ada");
        let project = event.project.as_ref().map(ClientId::as_str);
        assert_eq!(project, expected, "{}", event.operation);
        if event.to == Party::Provider(Provider::GitHub) {
            assert_eq!(event.request_id, callback.unwrap().request_id);
        }
    }
}

#[tokio::test]
async fn a_clean_login_is_logged_step_by_step_under_one_id() {
    let broker = TestBroker::start().await;
    broker.sign_in(1).await;
    broker.result(1).await;
    broker.result(1).await;
    is_logged(
        &broker,
        "
        consumer to broker: POST /v1/login/session 200 [opened]
        browser to broker: GET /login/{handle} 303 [bound]
        broker to github: POST token 200 []
        broker to github: GET user 200 []
        broker to github: GET user emails 200 []
        browser to broker: GET /callback/{provider} 303 [upstream_login_consumed completed]
        consumer to broker: POST /v1/login/result 200 [result_consumed]
        consumer to broker: POST /v1/login/result 400 [] result.once
        ",
    );
}

#[tokio::test]
async fn a_legacy_login_is_logged_step_by_step_under_one_id() {
    let broker = TestBroker::start().await;
    let token = broker.access_token().await;
    broker.profile(&token).await;
    broker.revoke(&token).await;
    broker.profile(&token).await;
    is_logged(
        &broker,
        "
        browser to broker: GET /authorize 303 []
        broker to github: POST token 200 []
        broker to github: GET user 200 []
        broker to github: GET user emails 200 []
        browser to broker: GET /callback/{provider} 303 [upstream_login_consumed code_issued]
        consumer to broker: POST /v1/token 200 [code_redeemed]
        consumer to broker: GET /v1/profile 200 []
        consumer to broker: POST /v1/revoke 200 [token_revoked]
        consumer to broker: GET /v1/profile 401 [] bearer.ended
        ",
    );
}

#[tokio::test]
async fn a_json_line_contains_the_audit_event() {
    let installation = Installation::new();
    let broker = installation.serve_with(&[("BROKER_LOG__FORMAT", "json")]);
    let first = broker.session(1).await;
    let opened: Value = serde_json::from_str(&broker.logged("\"opened\"")).unwrap();
    assert_eq!(opened["target"], "audit");
    let again = broker.session(1).await;
    let refused: Value = serde_json::from_str(&broker.logged("session_key.fresh")).unwrap();
    let happened = Rule::SessionKeyFresh.happened();
    for (line, response, status, committed) in
        [(&opened, first, 200, true), (&refused, again, 400, false)]
    {
        let fields = &line["fields"];
        for (name, value) in [
            ("request_id", json!(response.header("x-request-id"))),
            ("operation", json!("POST /v1/login/session")),
            ("from", json!("consumer")),
            ("to", json!("broker")),
            ("status", json!(status)),
            ("committed", json!(committed)),
            ("project", json!("prj_ada")),
            // The lines of one login are tied together.
            ("login", opened["fields"]["login"].clone()),
        ] {
            assert_eq!(fields[name], value, "{name} of {line}");
        }
    }
    assert!(opened["fields"]["login"].is_string());
    assert_eq!(refused["fields"]["happened"], happened);
}

#[tokio::test]
async fn a_readable_line_contains_the_audit_event() {
    let installation = Installation::new();
    let broker = installation.serve_with(&[("BROKER_LOG__FORMAT", "readable")]);
    broker.session(1).await;
    let opened = broker.logged("POST /v1/login/session  200 opened");
    let refused = broker.session(1).await;
    let request = format!("request={}", refused.header("x-request-id").unwrap());
    let line = broker.logged(&request);
    for part in [
        "consumer → broker POST /v1/login/session  400",
        Rule::SessionKeyFresh.happened(),
        "session_key.fresh",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    let login = |line: &str| line.split(' ').nth(1).unwrap().to_owned();
    assert_eq!(login(&line), login(&opened));
    let serving = broker.logged("Serving");
    for part in ["Google off, GitHub on", "1 project ", "Ctrl-C stops"] {
        assert!(serving.contains(part), "{part} in {serving}");
    }
}

/// An attacker who sends authorization URLs to many users is noticed; no visit is
/// refused.
// Threats: M7.
#[tokio::test]
async fn many_visits_from_foreign_pages_log_one_alarm_and_visits_from_own_pages_none() {
    let installation = Installation::new();
    let limit = "BROKER_LIMITS__VISITS_FROM_ELSEWHERE_PER_MINUTE";
    let broker = installation.serve_with(&[(limit, "2")]);
    let visit = async |key: u8, page: &str| {
        let browser = Browser::on_page(&broker.http, page);
        browser.get(&broker.login(key).await).await.status
    };
    let alarm = "more sign-ins begin elsewhere";
    let alarms = |log: &str| log.lines().filter(|line| line.contains(alarm)).count();
    let own = format!("{CALLBACK}/page");
    for key in 0..5 {
        assert_eq!(visit(key, &own).await, 303);
    }
    for key in 5..12 {
        assert_eq!(visit(key, "https://evil.example/").await, 200);
    }
    broker.get("/nowhere").await;
    broker.logged("(no route)");
    let log = broker.kill();
    assert_eq!(alarms(&log), 1, "{log}");
    let line = log.lines().find(|line| line.contains(alarm)).unwrap();
    let before = log.split(line).next().unwrap();
    assert_eq!(before.matches("(foreign)").count(), 2, "{log}");
    for part in ["ERROR", "prj_ada", "foreign"] {
        assert!(line.contains(part), "{part} in {line}");
    }
}

/// A flood must not fill the log.
#[tokio::test]
async fn a_rate_limit_logs_one_line_however_many_requests_exceed_it() {
    let installation = Installation::new();
    let broker = installation.serve_with(&[
        ("BROKER_LIMITS__LIVE_SESSIONS", "1"),
        ("BROKER_LIMITS__WRONG_SECRETS_PER_MINUTE", "1"),
    ]);
    broker.session(1).await;
    let guess = with(session_body(1), "client_secret", "hunter2");
    assert_eq!(broker.post("/v1/login/session", &guess).await.status, 401);
    for key in 2..12 {
        assert_eq!(broker.session(key).await.status, 429);
        assert_eq!(broker.post("/v1/login/session", &guess).await.status, 429);
    }
    broker.get("/nowhere").await;
    broker.logged("(no route)");
    let log = broker.kill();
    for part in ["limits.live_sessions", "wrong secrets come too often"] {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(part)).collect();
        assert_eq!(lines.len(), 1, "{log}");
        assert!(lines[0].contains("ERROR"), "{log}");
    }
    for silent in ["session.quota", "client.rate_limit", "  429", "hunter2"] {
        assert!(!log.contains(silent), "{silent} in {log}");
    }
}

async fn read(url: &str) -> Response {
    Http::new().get(url).send().await
}

// Threats: M7.
#[tokio::test]
async fn metrics_count_and_time_what_happens_for_the_operator_and_contain_no_value_from_a_request()
{
    let (installation, github) = (Installation::new(), FakeProvider::start_github().await);
    // Port 1 of loopback: closed on any sane machine.
    let broker = installation
        .serve_at(&github)
        .env("BROKER_UPSTREAM__GOOGLE__CLIENT_ID", "google")
        .env("BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET", "GOCSPX")
        .env("BROKER_UPSTREAM__GOOGLE__ISSUER", "http://127.0.0.1:1")
        .env("BROKER_OPERATOR__BIND", "127.0.0.1:0");
    let broker = BrokerProcess::start(broker);
    let line = broker.logged("serving metrics");
    let (_, address) = line.rsplit_once("address=").unwrap();
    let url = format!("http://{address}/metrics");
    for _ in 0..2 {
        let returned = broker.coming_back("code=upstream-code").await;
        assert_eq!(returned.send().await.status, 303);
    }
    let declined = broker.coming_back("error=access_denied").await;
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
    let text = metrics.text();
    for line in include_str!("audit/metrics.txt").lines() {
        assert!(text.lines().any(|it| it == line), "{line}\nin\n{text}");
    }
    let sent = "prj_ada upstream-code a-path-of-mine query a-handle-of-mine gho_token Lovelace";
    let (state, verifier) = (state(), verifier());
    for sent in sent.split(' ').chain([ADA_SECRET, &state, &verifier]) {
        assert!(!text.contains(sent), "{sent}\nin\n{text}");
    }
    assert!(text.contains("\nbroker_delay_seconds "));
    assert!(text.ends_with("# EOF\n"), "{metrics:?}");
    // They are at the operator's address, and nothing else is.
    broker.get("/metrics").await.is_refusal(404);
    let providers = url.replace("/metrics", "/api/providers");
    assert_eq!(read(&providers).await.status, 404);
    broker.terminate();
    assert_eq!(broker.ended(), Some(0));
}

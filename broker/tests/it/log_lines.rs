//! The audit log in the program's log, in both formats.

use reqwest::Method;
use serde_json::{Value, json};

use crate::installation::Installation;
use crate::test_broker::{CALLBACK, session_body, with};

#[tokio::test]
async fn a_json_line_contains_the_audit_event() {
    let installation = Installation::new();
    let broker = installation.serve_with(&[("BROKER_LOG__FORMAT", "json")]);
    let first = broker.session(1).await;
    let opened: Value = serde_json::from_str(&broker.logged("\"opened\"")).unwrap();
    assert_eq!(opened["target"], "audit");
    let again = broker.session(1).await;
    let refused: Value = serde_json::from_str(&broker.logged("session_key.fresh")).unwrap();
    let happened = contract::Rule::SessionKeyFresh.happened();
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
        contract::Rule::SessionKeyFresh.happened(),
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
        let path = broker.login(key).await;
        let request = broker
            .request(Method::GET, &path)
            .header("Sec-Fetch-Site", "cross-site")
            .header("Sec-Fetch-Mode", "navigate")
            .header("Sec-Fetch-Dest", "document");
        request.header("Referer", page).send().await.status
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

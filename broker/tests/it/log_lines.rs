//! The ledger in the log of the real program, as people and as programs read it.

use serde_json::Value;

use crate::command::Broker;
use crate::http::world::{session_body, with};
use crate::served::Served;
use crate::trouble::Place;

fn serve(format: &str) -> (Place, Served) {
    let place = Place::new();
    let mut broker = Broker::with("serve", &place.config);
    broker.0.env("BROKER_LOG__FORMAT", format);
    let served = Served::start(broker);
    (place, served)
}

#[tokio::test]
async fn a_line_of_json_holds_what_the_ledger_tells() {
    let (_place, served) = serve("json");
    let answer = served.session(1).await;
    let opened: Value = serde_json::from_str(&served.logged("\"opened\"")).unwrap();
    assert_eq!(opened["target"], "ledger");
    let opened = &opened["fields"];
    assert_eq!(opened["request_id"], answer.header("x-request-id").unwrap());
    assert_eq!(opened["operation"], "POST /v1/login/session");
    assert_eq!(
        (&opened["from"], &opened["to"]),
        (&"consumer".into(), &"broker".into())
    );
    assert_eq!(
        (&opened["status"], &opened["committed"]),
        (&200.into(), &true.into())
    );
    assert_eq!(opened["project"], "prj_ada");

    let answer = served.session(1).await;
    let refused: Value = serde_json::from_str(&served.logged("session_key.fresh")).unwrap();
    let refused = &refused["fields"];
    assert_eq!(
        refused["request_id"],
        answer.header("x-request-id").unwrap()
    );
    assert_eq!(
        refused["rule_says"],
        contract::Rule::SessionKeyFresh.sentence()
    );
    assert_eq!(
        (&refused["status"], &refused["committed"]),
        (&400.into(), &false.into())
    );
    assert!(opened["login"].is_string());
    assert_eq!(
        refused["login"], opened["login"],
        "one login's lines are tied together"
    );
}

#[tokio::test]
async fn a_readable_line_holds_the_same() {
    let (_place, served) = serve("readable");
    served.session(1).await;
    let opened = served.logged("steps=\"opened\"");
    let refused = served.session(1).await;
    let line = served.logged("session_key.fresh");
    for says in [
        "operation=\"POST /v1/login/session\"",
        "status=400",
        "committed=false",
        "project=\"prj_ada\"",
        refused.header("x-request-id").unwrap(),
    ] {
        assert!(line.contains(says), "{says} in {line}");
    }
    let login = |line: &str| line.split_once("login=").unwrap().1[..14].to_owned();
    assert_eq!(login(&line), login(&opened));
}

/// A flood must not fill the log.
#[tokio::test]
async fn what_comes_too_often_is_one_line_for_all_of_it() {
    let place = Place::new();
    let mut broker = Broker::with("serve", &place.config);
    broker.0.env("BROKER_LIMITS__LIVE_SESSIONS", "1");
    broker.0.env("BROKER_LIMITS__WRONG_SECRETS_PER_MINUTE", "1");
    let served = Served::start(broker);
    served.session(1).await;
    let guess = with(session_body(1), "client_secret", "hunter2");
    assert_eq!(served.post("/v1/login/session", &guess).await.status, 401);
    for key in 2..12 {
        assert_eq!(served.session(key).await.status, 429);
        assert_eq!(served.post("/v1/login/session", &guess).await.status, 429);
    }
    served.get("/api/providers").await;
    served.logged("/api/providers");
    let log = served.kill();
    for says in ["limits.live_sessions", "wrong secrets come too often"] {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(says)).collect();
        assert_eq!(lines.len(), 1, "{log}");
        assert!(lines[0].contains("ERROR"), "{log}");
    }
    for silent in ["session.room", "client.tries", "status=429", "hunter2"] {
        assert!(!log.contains(silent), "{silent} in {log}");
    }
}

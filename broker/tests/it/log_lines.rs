//! The ledger in the log of the real program, as people and as programs read it.

use serde_json::Value;

use crate::command::Broker;
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

//! What the ledger says of a login: each operation, and whose it was.

use super::world::{Browser, World, authorize_path, sign_in};

/// Operation, status, whether it was committed, and the rule, of each event.
fn told(world: &World) -> Vec<(String, u16, bool, Option<&'static str>)> {
    let events = world.events().into_iter();
    events
        .map(|it| {
            let rule = it.rule.map(contract::Rule::id);
            (it.operation, it.status, it.committed, rule)
        })
        .collect()
}

fn line(
    operation: &str,
    status: u16,
    committed: bool,
    rule: Option<&'static str>,
) -> (String, u16, bool, Option<&'static str>) {
    (operation.to_owned(), status, committed, rule)
}

#[tokio::test]
async fn a_clean_login_is_told_step_by_step_under_one_fingerprint() {
    let world = World::start().await;
    sign_in(&world, 1).await;
    world.result(1).await;
    world.result(1).await;
    assert_eq!(
        told(&world),
        [
            line("POST /v1/login/session", 200, true, None),
            line("GET /login/{handle}", 303, true, None),
            line("GET /callback/{provider}", 303, true, None),
            line("POST /v1/login/result", 200, true, None),
            line("POST /v1/login/result", 400, false, Some("result.once")),
        ]
    );
    let events = world.events();
    let login = events[0].login.clone();
    assert!(login.is_some());
    for event in events {
        assert_eq!(event.login, login, "{}", event.operation);
        assert_eq!(event.project.unwrap().as_str(), "prj_ada");
    }
}

#[tokio::test]
async fn a_legacy_login_is_told_step_by_step_under_one_fingerprint() {
    let world = World::start().await;
    let token = world.access_token().await;
    world.profile(&token).await;
    world.revoke(&token).await;
    world.profile(&token).await;
    assert_eq!(
        told(&world),
        [
            line("GET /authorize", 303, false, None),
            line("GET /callback/{provider}", 303, true, None),
            line("POST /v1/token", 200, true, None),
            line("GET /v1/profile", 200, false, None),
            line("POST /v1/revoke", 200, true, None),
            line("GET /v1/profile", 401, false, Some("bearer.ended")),
        ]
    );
    let events = world.events();
    let login = events[0].login.clone();
    assert!(login.is_some());
    assert!(events.iter().all(|event| event.login == login));
}

#[tokio::test]
async fn a_failure_at_the_provider_is_told_with_its_rule_and_why() {
    let world = World::start().await;
    let browser = Browser::of(&world);
    let away = browser.get(&authorize_path()).await;
    browser.come_back(&away, "error=access_denied").await;
    let event = world.events().pop().unwrap();
    assert_eq!(event.rule, Some(contract::Rule::UpstreamDenied));
    assert!(event.why.is_some());
    assert!(event.committed, "its trip is spent");
}

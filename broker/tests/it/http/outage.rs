//! While the store cannot do its step nothing is decided, and nothing is lost.

use broker::clock::Clock;
use broker::config::Config;
use broker::store::StoreUrl;
use serde_json::json;

use super::world::{
    Browser, CALLBACK, World, adas_profile, authorize_path, back_path, result_body, session_body,
    sign_in, state, token_body,
};
use crate::scratch::Scratch;

/// A world whose tables can be taken away and put back.
pub(super) struct Fragile {
    pub(super) world: World,
    scratch: Scratch,
}

impl Fragile {
    async fn start() -> Self {
        Self::start_by(Clock::system(), |_| ()).await
    }

    /// Living by this clock, and configured otherwise.
    pub(super) async fn start_by(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let scratch = Scratch::new();
        let url = StoreUrl::SqliteFile(scratch.file("broker.db"));
        let world = World::start_by(clock, |config| {
            config.store.url = url;
            change(config);
        })
        .await;
        Self { world, scratch }
    }

    pub(super) fn take_away(&self, table: &str) {
        self.execute(&format!("ALTER TABLE {table} RENAME TO away"));
    }

    fn put_back(&self, table: &str) {
        self.execute(&format!("ALTER TABLE away RENAME TO {table}"));
    }

    fn execute(&self, statement: &str) {
        let file = rusqlite::Connection::open(self.scratch.file("broker.db")).unwrap();
        file.execute_batch(statement).unwrap();
    }
}

#[tokio::test]
async fn a_token_that_could_not_be_revoked_is_not_said_to_be() {
    let fragile = Fragile::start().await;
    let world = &fragile.world;
    let token = world.access_token().await;
    fragile.take_away("grants");
    world.revoke(&token).await.is_refused(503);
    assert_eq!(world.last_rule(), Some("store.reachable"));
    world.profile(&token).await.is_refused(503);
    fragile.put_back("grants");
    world.profile(&token).await.is(200, &adas_profile());
    world.revoke(&token).await.is(200, &json!({}));
    world.profile(&token).await.is_refused(401);
}

#[tokio::test]
async fn an_exchange_that_failed_leaves_the_code_as_it_was() {
    let fragile = Fragile::start().await;
    let world = &fragile.world;
    let code = world.code().await;
    fragile.take_away("grants");
    let body = token_body(&code);
    world.post("/v1/token", &body).await.is_refused(503);
    fragile.put_back("grants");
    assert_eq!(world.token(&code).await.status, 200);
}

#[tokio::test]
async fn a_login_survives_an_outage() {
    let fragile = Fragile::start().await;
    let world = &fragile.world;
    sign_in(world, 1).await;
    let path = world.session(2).await;
    fragile.take_away("logins");
    world
        .post("/v1/login/result", &result_body(1))
        .await
        .is_refused(503);
    world
        .post("/v1/login/session", &session_body(3))
        .await
        .is_refused(503);
    let page = Browser::of(world).get(&path).await;
    page.is_refusal_page(503, "store.reachable");
    fragile.put_back("logins");
    assert_eq!(world.result(1).await.json()["status"], "succeeded");
    world.session(3).await;
    let away = Browser::of(world).get(&path).await;
    assert_eq!(away.status, 303);
}

#[tokio::test]
async fn an_upstream_login_that_cannot_be_spent_does_not_reach_the_provider() {
    let fragile = Fragile::start().await;
    let world = &fragile.world;
    let browser = Browser::of(world);
    let away = browser.get(&world.session(1).await).await;
    let back = back_path(&away, "code=upstream-code");
    fragile.take_away("spent_trips");
    let page = browser.get(&back).await;
    page.is_refusal_page(503, "store.reachable");
    assert_eq!(world.calls_upstream().await, 0);
    fragile.put_back("spent_trips");
    browser.get(&back).await.goes_to(CALLBACK);
}

#[tokio::test]
async fn a_browser_whose_upstream_login_is_spent_goes_home_although_the_store_fails() {
    let fragile = Fragile::start().await;
    let world = &fragile.world;
    let browser = Browser::of(world);
    let away = browser.get(&world.session(1).await).await;
    fragile.take_away("logins");
    let home = browser.come_back(&away, "code=upstream-code").await;
    assert_eq!(world.last_rule(), Some("store.reachable"));
    home.goes_to(CALLBACK);
    fragile.put_back("logins");
    let result = world.result(1).await;
    result.is(200, &json!({ "status": "pending" }));
}

#[tokio::test]
async fn a_legacy_login_whose_code_cannot_be_kept_comes_back_with_an_error() {
    let fragile = Fragile::start().await;
    let world = &fragile.world;
    let browser = Browser::of(world);
    let away = browser.get(&authorize_path()).await;
    fragile.take_away("grants");
    let back = browser.come_back(&away, "code=upstream-code").await;
    assert_eq!(world.last_rule(), Some("store.reachable"));
    back.goes_to(&format!(
        "{CALLBACK}?error=provider_unavailable&state={}",
        state()
    ));
}

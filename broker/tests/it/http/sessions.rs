//! Starting a login, and what is on offer.

use broker::config::Config;
use reqwest::Method;
use serde_json::json;

use super::world::{
    Answer, BASE, Browser, CALLBACK, World, authorize_path, authorize_query, authorize_with,
    session_body, state, with,
};

#[tokio::test]
async fn an_authorization_url_is_the_base_url_and_a_handle() {
    let world = World::start().await;
    let answer = world.post("/v1/login/session", &session_body(1)).await;
    let url = answer.json()["authorization_url"].clone();
    let url = url.as_str().unwrap();
    assert_eq!(
        answer.body,
        format!(r#"{{"authorization_url":"{url}","expires_in":600}}"#)
    );
    assert_eq!(answer.status, 200);
    answer.is_complete();
    let handle = url.strip_prefix(&format!("{BASE}/login/")).unwrap();
    assert_eq!(handle.len(), 43);
    assert!(
        handle
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    );
    assert_ne!(world.session(2).await, format!("/login/{handle}"));
}

#[tokio::test]
async fn no_header_changes_where_a_browser_is_sent() {
    let world = World::start().await;
    for (n, name) in (1..).zip(["Host", "X-Forwarded-Host", "Forwarded", "X-Original-URL"]) {
        let value = if name == "Forwarded" {
            "host=evil.test"
        } else {
            "evil.test"
        };
        let request = world
            .request(Method::POST, "/v1/login/session")
            .header(name, value)
            .json(&session_body(n));
        let url = Answer::to(request).await.json()["authorization_url"].clone();
        assert!(url.as_str().unwrap().starts_with(BASE), "{name}: {url}");
    }
}

#[tokio::test]
async fn no_parameter_changes_where_a_browser_is_sent() {
    const NAMES: [&str; 7] = [
        "next",
        "url",
        "redirect",
        "return_to",
        "back",
        "target_link_uri",
        "post_logout_redirect_uri",
    ];
    let world = World::start().await;
    let wishes: Vec<_> = NAMES
        .map(|name| format!("{name}=https://evil.test/"))
        .into();
    let wishes = wishes.join("&");

    let path = world.session(1).await;
    let browser = Browser::of(&world);
    let away = browser.get(&format!("{path}?{wishes}")).await;
    let to_provider = away.location().unwrap();
    assert!(
        to_provider.starts_with(&world.github.uri()),
        "{to_provider}"
    );
    assert!(!to_provider.contains("evil.test"), "{to_provider}");
    let answer = format!("code=upstream-code&{wishes}");
    browser.come_back(&away, &answer).await.goes_to(CALLBACK);

    let away = browser.get(&format!("{}&{wishes}", authorize_path())).await;
    let to_provider = away.location().unwrap();
    assert!(!to_provider.contains("evil.test"), "{to_provider}");
    let answer = format!("error=access_denied&{wishes}");
    let home = format!("{CALLBACK}?error=access_denied&state={}", state());
    browser.come_back(&away, &answer).await.goes_to(&home);
}

#[tokio::test]
async fn a_callback_that_is_not_registered_byte_for_byte_is_refused() {
    let world = World::start().await;
    for mutant in mutants() {
        let body = with(session_body(1), "redirect_uri", mutant);
        let answer = world.post("/v1/login/session", &body).await;
        assert_eq!(answer.status, 400, "{mutant:?}");
        answer.is_refused(400);
        let mut query = authorize_query();
        query[1].1 = mutant.to_owned();
        let answer = world.get(&authorize_with(&query)).await;
        assert_eq!(answer.status, 400, "{mutant:?}: {:?}", answer.location());
        answer.is_refused(400);
        assert_eq!(world.last_rule(), Some("redirect_uri.registered"));
    }
    world.session(1).await;
}

/// `https://app.example/cb` and `http://localhost:3000/cb`, slightly otherwise.
fn mutants() -> Vec<&'static str> {
    vec![
        "",
        "/cb",
        "//app.example/cb",
        "https://app.example",
        "https://app.example/",
        "https://app.example/cb/",
        "https://app.example/CB",
        "https://app.example/cb2",
        "https://app.example/c",
        "https://app.example//cb",
        "https://app.example/cb//",
        "https://app.example/./cb",
        "https://app.example/x/../cb",
        "https://app.example/cb/..",
        "https://app.example/%63b",
        "https://app.example/%2e/cb",
        "https://app.example/cb%00",
        "https://app.example/cb%20",
        "https://app.example/cb?",
        "https://app.example/cb?a=b",
        "https://app.example/cb#",
        "https://app.example/cb#a",
        "https://app.example/cb;a",
        "https://APP.example/cb",
        "HTTPS://app.example/cb",
        "http://app.example/cb",
        "https://app.example:443/cb",
        "https://app.example:8443/cb",
        "https://app.example./cb",
        "https://ada@app.example/cb",
        "https://@app.example/cb",
        "https://app.example@evil.test/cb",
        "https://app.example.evil.test/cb",
        "https://evil.test/https://app.example/cb",
        "https://www.app.example/cb",
        "https://xn--app-.example/cb",
        "https://аpp.example/cb",
        "https:\\\\app.example\\cb",
        "https://app.example\\cb",
        " https://app.example/cb",
        "https://app.example/cb ",
        "https://app.example/c\tb",
        "https://app.example/cb\n",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://localhost:3001/cb",
        "http://localhost/cb",
        "https://localhost:3000/cb",
        "http://127.0.0.1:3000/cb",
        "http://[::1]:3000/cb",
        "http://localhost:3000/cb/",
        "http://app.localhost:3000/cb",
        "http://localhost:03000/cb",
        "https://bob.example/cb",
    ]
}

#[tokio::test]
async fn a_provider_that_is_off_is_refused_at_the_session() {
    let check = async |world: World| {
        let body = with(session_body(1), "provider", "google");
        world.post("/v1/login/session", &body).await.is_refused(400);
        assert_eq!(world.last_rule(), Some("provider.offered"));
        // Its key is still fresh.
        world.session(1).await;
    };
    check(World::start_with(|config| config.upstream.google = None).await).await;
    check(
        World::start_with(|config| config.upstream.google.as_mut().unwrap().enabled = false).await,
    )
    .await;
}

#[tokio::test]
async fn the_providers_are_listed_as_they_are_configured() {
    let check = async |world: World, expected: &str| {
        let answer = world.get("/api/providers").await;
        assert_eq!((answer.status, answer.body.as_str()), (200, expected));
        assert_eq!(answer.header("content-type"), Some("application/json"));
        answer.is_complete();
    };
    check(
        World::start().await,
        r#"[{"id":"google","configured":true,"enabled":true,"available":true},{"id":"github","configured":true,"enabled":true,"available":true}]"#,
    )
    .await;
    check(
        World::start_with(|config| {
            config.upstream.google = None;
            config.upstream.github.as_mut().unwrap().enabled = false;
        })
        .await,
        r#"[{"id":"google","configured":false,"enabled":false,"available":false},{"id":"github","configured":true,"enabled":false,"available":false}]"#,
    )
    .await;
}

#[tokio::test]
async fn a_provider_that_nobody_can_reach_is_not_available_for_five_minutes() {
    let nowhere = |config: &mut Config| {
        let github = config.upstream.github.as_mut().unwrap();
        github.web_url = "http://127.0.0.1:1".parse().unwrap();
    };
    let world = World::start_with(nowhere).await;
    let github = async || world.get("/api/providers").await.json()[1]["available"].clone();
    let browser = Browser::of(&world);
    let away = browser.get(&world.session(1).await).await;
    assert_eq!(github().await, json!(true));
    let home = browser.come_back(&away, "code=upstream-code").await;
    home.goes_to(CALLBACK);
    assert_eq!(github().await, json!(false));
    world.pass_ms(290_000);
    assert_eq!(github().await, json!(false));
    world.pass_ms(10_000);
    assert_eq!(github().await, json!(true));
}

#[tokio::test]
async fn what_a_browser_says_of_a_provider_does_not_count() {
    let world = World::start().await;
    let before = world.get("/api/providers").await.body;
    let browser = Browser::of(&world);
    for error in ["server_error", "temporarily_unavailable", "access_denied"] {
        let away = browser.get(&authorize_with(&authorize_query())).await;
        browser.come_back(&away, &format!("error={error}")).await;
        assert_eq!(world.get("/api/providers").await.body, before, "{error}");
    }
}

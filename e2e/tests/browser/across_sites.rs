//! Consumer, broker and provider on three different sites, as in production: the
//! cookies are sent in a real browser, and as `SameSite=Strict` ones they are not.
//!
//! Besides `localhost` and 127.0.0.1 this needs 127.0.0.2, which Linux has.

use serde_json::{Value, json};
use stack::{Stack, StackSettings};
use thirtyfour::error::WebDriverResult;

use crate::user::{Flow, User};

async fn stack_across_sites() -> Stack {
    Stack::start(StackSettings {
        automatic: false,
        google: ([127, 0, 0, 2], 0).into(),
        ..StackSettings::for_tests()
    })
    .await
    .unwrap()
}

/// Sends a user to the provider, makes the cookie whose name begins with `strict`
/// become a Strict one there, and sends them back.
async fn sign_in(user: &User<'_>, flow: Flow, strict: Option<&str>) -> WebDriverResult<()> {
    user.opens_the_demo().await?;
    user.starts(flow, "google").await?;
    user.is_at_the_mock_of("google").await?;
    if let Some(prefix) = strict {
        make_strict(user, prefix).await?;
    }
    user.chooses("ada").await
}

async fn make_strict(user: &User<'_>, prefix: &str) -> WebDriverResult<()> {
    let all = user.sends_chromium("Storage.getCookies", json!({})).await?;
    let is_meant = |cookie: &&Value| cookie["name"].as_str().unwrap().starts_with(prefix);
    let found: Vec<_> = all["cookies"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_meant)
        .collect();
    let [cookie] = found[..] else {
        panic!("not one {prefix}: {all}");
    };
    assert_eq!(cookie["sameSite"], "Lax");
    let mut strict = json!({ "sameSite": "Strict" });
    for same in [
        "name",
        "value",
        "domain",
        "path",
        "httpOnly",
        "expires",
        "sourceScheme",
    ] {
        strict[same] = cookie[same].clone();
    }
    let set = user.sends_chromium("Network.setCookie", strict).await?;
    assert_eq!(set["success"], true);
    Ok(())
}

// Threats: K2.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_survives_every_hop_between_three_sites() {
    at_the_demo!(of stack_across_sites(), async |stack, user| {
        for flow in [Flow::Clean, Flow::Legacy] {
            sign_in(&user, flow, None).await?;
            user.is_signed_in_as("Ada Lovelace").await?;
            user.is_at(&format!("{}/profile", stack.urls().consumer)).await?;
            user.signs_out().await?;
        }
    });
}

// Threats: K3.
#[tokio::test(flavor = "multi_thread")]
async fn a_strict_cookie_of_the_broker_is_not_sent_on_the_way_back_from_the_provider() {
    at_the_demo!(of stack_across_sites(), async |_stack, user| {
        for flow in [Flow::Clean, Flow::Legacy] {
            sign_in(&user, flow, Some("fsi_trip_")).await?;
            user.sees_rule("upstream_login.own_browser").await?;
            user.forgets_cookies().await?;
        }
    });
}

// Threats: K3.
#[tokio::test(flavor = "multi_thread")]
async fn a_strict_cookie_of_the_demo_is_not_sent_to_its_callback() {
    at_the_demo!(of stack_across_sites(), async |_stack, user| {
        for flow in [Flow::Clean, Flow::Legacy] {
            sign_in(&user, flow, Some("demo_session")).await?;
            user.sees_problem("no_session").await?;
            user.forgets_cookies().await?;
        }
    });
}

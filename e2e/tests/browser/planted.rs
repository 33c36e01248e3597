//! Cookies that an attacker plants in the victim's browser, from a sister subdomain, from
//! another port of the broker's host name (cookies know no ports) or otherwise: the demo does
//! not accept them, and they give the attacker no result. And a cookie with a byte that is not
//! UTF-8.

use serde_json::Value;
use stack::{Stack, StackSettings};
use testkit::browser::Browser;
use thirtyfour::error::WebDriverResult;

use crate::across_sites::over_tls;
use crate::application::{Application, SHOP, Site, http};
use crate::interactive;
use crate::relay::lure;
use crate::user::{Flow, User};

/// A stack over TLS, as in production, under a domain below which others have sites, too.
pub(crate) fn shop() -> StackSettings {
    StackSettings {
        https: true,
        host: Some(SHOP.parse().unwrap()),
        ..interactive()
    }
}

/// Names that a browser lets a sister subdomain set, and that a server which
/// decodes or trims would take for `name`. (With white space *behind* it, a name
/// still begins with `__Host-`, and Chromium refuses it.)
fn spellings(name: &str) -> [String; 5] {
    let rest = name
        .strip_prefix("__Host-")
        .expect("a name that is guarded");
    [
        format!("%5F%5FHost-{rest}"),
        format!("__%48ost-{rest}"),
        name.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        format!("\u{2000}{name}"),
        format!("\u{85}{name}"),
    ]
}

/// Has a sister subdomain set `value` under `name` for the parent domain, in a browser that
/// holds nothing else.
async fn plant(user: &User<'_>, name: &str, value: &str) -> WebDriverResult<()> {
    user.forgets_cookies().await?;
    let sister = Site::over_tls("evil.shop.test").await;
    let line = format!("{name}={value}; Domain=shop.test; Path=/; Secure; SameSite=Lax");
    sister.sets_cookies("/plant", vec![line]);
    user.opens(&sister.url("/plant")).await?;
    let kept = user.holds_cookies().await?;
    assert_eq!(kept.len(), 1, "Chromium kept {name}: {kept:?}");
    Ok(())
}

/// The one cookie whose name has this prefix.
async fn cookie(user: &User<'_>, start: &str) -> WebDriverResult<Value> {
    let all = user.holds_cookies().await?;
    let mut found = all
        .iter()
        .filter(|it| it["name"].as_str().unwrap().starts_with(start));
    let cookie = found.next().expect("the cookie").clone();
    assert!(found.next().is_none(), "one cookie {start}");
    assert_eq!(cookie["secure"], true);
    Ok(cookie)
}

// Threats: V5, G1.
#[tokio::test(flavor = "multi_thread")]
async fn a_sister_subdomain_plants_no_session_at_the_demo() {
    at_the_stack!(of shop(), async |_stack, user| {
        user.signs_in(Flow::Clean, "google").await?;
        let session = cookie(&user, "__Host-demo_session").await?;
        let value = session["value"].as_str().unwrap();
        for planted in spellings("__Host-demo_session") {
            plant(&user, &planted, value).await?;
            user.opens_the_profile().await?;
            user.is_signed_out().await?;
        }
        // The session itself is alive: it was the names that did not serve.
        user.is_given_cookies(&[session]).await?;
        user.opens_the_profile().await?;
        user.is_signed_in_as("Ada Lovelace").await?;
    });
}

// Threats: G1.
#[tokio::test(flavor = "multi_thread")]
async fn a_sister_subdomain_plants_no_upstream_login_at_the_broker() {
    at_the_stack!(of shop(), async |_stack, user| {
        user.goes_to(Flow::Clean, "google").await?;
        let provider = user.address().await?;
        let login = cookie(&user, "__Host-fsi_trip_").await?;
        let (name, value) = (&login["name"], login["value"].as_str().unwrap());
        for planted in spellings(name.as_str().unwrap()) {
            plant(&user, &planted, value).await?;
            user.opens(&provider).await?;
            user.chooses("ada").await?;
            user.sees_refusal("This sign-in did not begin in this browser").await?;
        }
        // The login itself is alive: it was the names that did not serve.
        user.is_given_cookies(&[login]).await?;
        user.opens(&provider).await?;
        user.chooses("ada").await?;
        user.sees_problem("no_session").await?;
    });
}

/// A server at the broker's host name that plants these cookies at `/plant`.
async fn neighbour<L: AsRef<[u8]>>(lines: Vec<L>) -> Site {
    let site = Site::called("127.0.0.1").await;
    site.sets_cookies("/plant", lines);
    site
}

/// An attacker's client, which keeps cookies and sends what browsers send but for their
/// names.
fn attacker(stack: &Stack) -> Browser {
    Browser::with_http(http(stack)).on_page("https://evil.example/")
}

/// Starts and confirms a login, plants its cookie in the user's browser, and sends that
/// to the provider's page over a link.
async fn takes_over(stack: &Stack, user: &User<'_>, guard: &str) -> WebDriverResult<()> {
    let (app, broker) = (
        Application::guarded(stack, guard).await,
        &stack.urls().broker,
    );
    let (login, attacker) = (app.login().await, attacker(stack));
    let confirmed = format!("{}/continue", login.authorization_url);
    let redirect = attacker.press(&format!("{broker}/"), &confirmed).await;
    let provider = redirect.location().expect("the provider's page");
    let planted = attacker.cookies(broker).into_iter();
    let secure = if broker.starts_with("https") {
        "; Secure"
    } else {
        ""
    };
    let lines = planted
        .map(|(name, value)| format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}"));
    let neighbour = neighbour(lines.collect()).await;
    user.opens(&neighbour.url("/plant")).await?;
    let evil = lure(&provider.replace('&', "&amp;")).await;
    user.opens(&evil.url("/")).await?;
    user.follows_link().await?;
    user.is_at_the_mock_of("google").await?;
    user.chooses("ada").await?;

    app.asks(user).await?;
    app.waits_for(&login).await;
    user.cancels_confirmation().await?;
    user.sees_heading("Home").await?;
    app.is_denied(&login).await;
    Ok(())
}

// Threats: W1.
#[tokio::test(flavor = "multi_thread")]
async fn a_planted_upstream_login_signs_no_attacker_in_with_or_without_tls() {
    for settings in [interactive(), over_tls()] {
        at_the_stack!(of settings, async |stack, user| {
            for guard in ["auto", "always"] {
                takes_over(&stack, &user, guard).await?;
            }
        });
    }
}

// Threats: W2.
#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_that_is_not_utf_8_is_named_to_the_user() {
    at_the_stack!(async |stack, user| {
        let neighbour = neighbour(vec![b"caf\xe9=1; Path=/".to_vec()]).await;
        user.opens(&neighbour.url("/plant")).await?;
        let app = Application::at(&stack).await;
        let login = app.login().await.authorization_url;
        let link = format!("<a href=\"{login}\">Sign in</a>");
        app.site.shows("/", &link);
        user.opens(&app.site.url("/")).await?;
        user.follows_link().await?;
        user.sees_refusal("A cookie in this browser cannot be read")
            .await?;
        user.forgets_cookies().await?;
        user.opens(&app.site.url("/")).await?;
        user.follows_link().await?;
        user.is_at_the_mock_of("google").await?;
    });
}

//! A hostile server on another port of the broker's host name. Cookies know no ports, so
//! it plants in a victim's browser the upstream login of a client of its own; and a cookie
//! with a byte that is not UTF-8.

use stack::Stack;
use testkit::browser::Browser;
use thirtyfour::error::WebDriverResult;

use crate::across_sites::over_tls;
use crate::application::{Application, http};
use crate::interactive;
use crate::relay::lure;
use crate::site::Site;
use crate::user::User;

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

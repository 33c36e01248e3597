//! Consumer, broker and provider on three different sites, as in production: which cookies a
//! real browser sends from site to site, and that it carries no fragment to the consumer.
//!
//! Besides `localhost` and 127.0.0.1 this needs 127.0.0.2, which Linux has.

use std::time::Duration;

use mock_upstream::{Misbehaviour, Next};
use serde_json::{Value, json};
use stack::StackSettings;
use testkit::backend::CleanLogin;
use thirtyfour::error::WebDriverResult;

use crate::application::Application;
use crate::interactive;
use crate::user::{Flow, User};

fn across_sites() -> StackSettings {
    StackSettings {
        google: ([127, 0, 0, 2], 0).into(),
        ..interactive()
    }
}

/// With TLS: cookies are `Secure` and `__Host-`.
pub(crate) fn over_tls() -> StackSettings {
    StackSettings {
        https: true,
        ..across_sites()
    }
}

/// Asserts that every cookie of the demo and of the broker is bound to its host, and that
/// each of them has set one.
fn are_bound_to_their_hosts(cookies: &[Value]) {
    let names = || {
        cookies
            .iter()
            .map(|cookie| cookie["name"].as_str().unwrap())
    };
    for prefix in ["__Host-demo_session", "__Host-fsi_trip_"] {
        assert!(names().any(|name| name.starts_with(prefix)), "{cookies:?}");
    }
    assert!(
        names().all(|name| name.starts_with("__Host-")),
        "{cookies:?}"
    );
    for cookie in cookies {
        assert_eq!(cookie["secure"], true, "{cookie}");
        assert_eq!(cookie["sourceScheme"], "Secure", "{cookie}");
    }
}

// Threats: K2.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_across_three_sites_and_out_by_each_flow_with_each_provider() {
    for settings in [across_sites(), over_tls()] {
        at_the_stack!(of settings, async |stack, user| {
            let demo = &stack.urls().consumer;
            for (flow, provider) in [
                (Flow::Clean, "google"),
                (Flow::Clean, "github"),
                (Flow::Legacy, "google"),
                (Flow::Legacy, "github"),
            ] {
                user.goes_to(flow, provider).await?;
                if demo.starts_with("https") {
                    are_bound_to_their_hosts(&user.holds_cookies().await?);
                }
                user.chooses("ada").await?;
                user.is_signed_in_as("Ada Lovelace").await?;
                user.sees_field("provider", provider).await?;
                user.is_at(&format!("{demo}/profile")).await?;
                user.signs_out().await?;
                user.opens_the_profile().await?;
                user.is_signed_out().await?;
            }
        });
    }
}

/// Opens `url` with a fragment, from a page of the app; the app's callback is shown with
/// `more` and nothing else. (What ends with `#` has an empty fragment.)
async fn comes_back_bare(
    app: &Application,
    url: &str,
    more: &str,
    user: &User<'_>,
) -> WebDriverResult<()> {
    let link = format!(
        "<a href=\"{}#planted\">Sign in</a>",
        url.replace('&', "&amp;")
    );
    app.site.shows("/start", &link);
    user.opens(&app.site.url("/start")).await?;
    user.follows_link().await?;
    user.sees_heading("Home").await?;
    let bare = format!("{}{more}", app.site.url("/callback"));
    assert_eq!(user.runs("return location.href").await?, json!(bare));
    Ok(())
}

// Threats: X9, A30.
#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_never_reaches_the_consumer_whichever_way_a_login_ends() {
    at_the_stack!(of StackSettings::for_tests(), async |stack, user| {
        let app = Application::at(&stack).await;
        let comes_back = async |login: &CleanLogin| {
            comes_back_bare(&app, &login.authorization_url, "", &user).await
        };
        let signed_in = app.login().await;
        comes_back(&signed_in).await?;
        assert_eq!(app.result(&signed_in).await["status"], "succeeded");
        // The login is over now, and its result consumed.
        comes_back(&signed_in).await?;

        let google = stack.upstream().google();
        google.queue(Next::Misbehave(Misbehaviour::Deny)).unwrap();
        let declined = app.login().await;
        comes_back(&declined).await?;
        app.is_denied(&declined).await;

        // An authorization request without a state.
        let callback = app.site.url("/callback");
        let parameters = [("client_id", &*app.backend.client_id), ("redirect_uri", &callback)];
        let refused = app.backend.authorize_url(&parameters);
        comes_back_bare(&app, &refused, "?error=invalid_request#", &user).await?;

        let expired = app.login().await;
        stack.clock().advance(Duration::from_secs(600));
        comes_back(&expired).await?;
    });
}

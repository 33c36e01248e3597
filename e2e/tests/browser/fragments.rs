//! A fragment of the first address never reaches the consumer, whichever way the browser
//! is redirected back.

use mock_upstream::{Misbehaviour, Next};
use serde_json::json;
use thirtyfour::error::WebDriverResult;

use crate::user::User;
use testkit::backend::CleanLogin;

use crate::application::Application;

/// Opens the login with a fragment, from a page of the app; the app's callback is
/// shown as it was registered.
async fn comes_back_bare(
    app: &Application,
    login: &CleanLogin,
    user: &User<'_>,
) -> WebDriverResult<()> {
    let link = format!(
        "<a href=\"{}#planted\">Sign in</a>",
        login.authorization_url
    );
    app.site.shows("/start", &link);
    user.opens(&app.site.url("/start")).await?;
    user.follows_link().await?;
    user.sees_heading("Home").await?;
    let bare = app.site.url("/callback");
    assert_eq!(user.runs("return location.href").await?, json!(bare));
    Ok(())
}

// Threats: X9.
#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_does_not_survive_a_login_that_is_over() {
    at_the_demo!(async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        stack.clock().advance(std::time::Duration::from_secs(600));
        comes_back_bare(&app, &login, &user).await?;
    });
}

// Threats: X9.
#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_does_not_survive_a_sign_in() {
    at_the_demo!(of crate::automatic_stack(), async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        comes_back_bare(&app, &login, &user).await?;
        assert_eq!(app.result(&login).await["status"], "succeeded");
        // The login is over now, and its result consumed.
        comes_back_bare(&app, &login, &user).await?;
    });
}

// Threats: A30.
#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_does_not_survive_a_user_who_declines() {
    at_the_demo!(of crate::automatic_stack(), async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        let google = stack.upstream().google();
        google.queue(Next::Misbehave(Misbehaviour::Deny)).unwrap();
        comes_back_bare(&app, &login, &user).await?;
        assert_eq!(app.result(&login).await["error"], "access_denied");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_does_not_survive_a_refused_authorization_request() {
    at_the_demo!(async |stack, user| {
        let app = Application::at(&stack).await;
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &app.backend.client_id)
            .append_pair("redirect_uri", &app.site.url("/callback"))
            .finish();
        let url = format!("{}/authorize?{query}#planted", stack.urls().broker);
        user.opens(&url).await?;
        user.sees_heading("Home").await?;
        assert_eq!(user.runs("return location.hash").await?, json!(""));
        assert_eq!(
            user.runs("return location.search").await?,
            json!("?error=invalid_request")
        );
    });
}

//! Every page fits every screen; the pictures of `target/screenshots/` are taken here.

use serde_json::json;
use testkit::http::Http;
use thirtyfour::error::WebDriverResult;

use crate::application::Application;
use crate::user::{Flow, User};

/// What a user sees of the layout.
impl User<'_> {
    pub(crate) async fn sees_no_sideways_scroll(&self, picture: &str) -> WebDriverResult<()> {
        self.takes_picture(picture).await?;
        let script = "const page = document.documentElement; \
                      return page.scrollWidth - page.clientWidth;";
        assert_eq!(self.runs(script).await?, 0, "{picture} is too wide");
        Ok(())
    }

    /// Asserts that the page which is open is as wide as a phone, a tablet and a desktop.
    pub(crate) async fn fits_every_screen(&self, page: &str) -> WebDriverResult<()> {
        for width in [320, 390, 700, 900, 1280] {
            self.has_a_window_of(width, 844).await?;
            let picture = format!("{page}-{width}");
            self.sees_no_sideways_scroll(&picture).await?;
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_a_sign_in_fits_every_screen() {
    at_the_stack!(async |stack, user| {
        user.opens_the_demo().await?;
        user.fits_every_screen("demo").await?;
        for (flow, provider) in [(Flow::Clean, "google"), (Flow::Legacy, "github")] {
            user.goes_to(flow, provider).await?;
            user.fits_every_screen(provider).await?;
            user.chooses("musa").await?;
            user.sees_field("provider", provider).await?;
            user.fits_every_screen(&format!("profile-{provider}"))
                .await?;
        }
        // A line of the panel leads to a line of the source, which is in sight.
        user.clicks("#what-happened a[href*='/source/']").await?;
        let script = "const line = document.querySelector(':target').getBoundingClientRect(); \
                      return line.top >= 0 && line.bottom <= innerHeight;";
        assert_eq!(user.runs(script).await?, true);
        user.fits_every_screen("source").await?;
        user.opens(&format!("{}/callback", stack.urls().consumer))
            .await?;
        user.fits_every_screen("problem").await?;
        user.opens(&format!("{}/login/unknown", stack.urls().broker))
            .await?;
        user.sees_refusal("This sign-in link has expired, or was already used")
            .await?;
        user.fits_every_screen("broker").await?;
        let login = Application::at(&stack).await.login().await;
        user.opens(&login.authorization_url).await?;
        user.sees_continue_enabled().await?;
        user.fits_every_screen("question").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_the_control_address_fits_every_screen() {
    at_the_stack!(async |stack, user| {
        user.signs_in(Flow::Clean, "google").await?;
        let login = stack.event_log().logins(1).remove(0);
        for (page, path) in [
            ("inspector", "/".to_owned()),
            ("calls", "/calls".to_owned()),
            ("lessons", "/lessons".to_owned()),
            ("present", format!("/present/{login}?arrow=3")),
        ] {
            user.opens_control(&path).await?;
            user.fits_every_screen(page).await?;
        }
        user.begins("relay").await?;
        user.clicks("#do-1").await?;
        user.sees("#desk .state", "waits for the victim").await?;
        user.fits_every_screen("lesson").await?;

        let control = Http::at(&stack.urls().control);
        for name in ["checkout", "A long name of a test: signs_in_with_github"] {
            let started = control
                .post("/api/sandboxes")
                .json(&json!({ "name": name }));
            assert_eq!(started.send().await.status, 201);
        }
        user.opens_control("/").await?;
        user.clicks(".picker summary").await?;
        user.fits_every_screen("sandboxes").await?;
        // The tools do so in their cards, too.
        for width in [360, 780, 1000, 1040, 1100, 1280, 1600] {
            user.has_a_window_of(width, 900).await?;
            let too_wide = "return [...document.querySelectorAll('.tool')] \
                            .filter(card => card.scrollWidth > card.clientWidth) \
                            .map(card => card.querySelector('h2').textContent);";
            assert_eq!(user.runs(too_wide).await?, json!([]), "{width}");
        }
    });
}

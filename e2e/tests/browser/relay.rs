//! The confirmation page in a real browser: which visits get it, and that its Continue
//! cannot be pressed by mistake.

use serde_json::{Value, json};
use testkit::backend::CleanLogin;
use thirtyfour::error::WebDriverResult;
use thirtyfour::extensions::query::ElementQueryable as _;
use thirtyfour::{By, Key};

use crate::application::{Application, Site};
use crate::user::User;

/// A foreign site with a link to `bait`.
pub(crate) async fn lure(bait: &str) -> Site {
    let site = Site::called("evil.localhost").await;
    let link = format!("<p>Free tickets: <a href=\"{bait}\">here</a>");
    site.shows("/", &link);
    site
}

/// On the confirmation page.
impl User<'_> {
    /// Presses Continue as soon as there is something to press, and stays.
    async fn presses_continue_in_vain(&self) -> WebDriverResult<()> {
        let before = self.address().await?;
        let button = By::Css("[data-question] button[value=continue]");
        let button = self.browser.query(button).and_displayed();
        button.first().await?.click().await?;
        self.is_at(&before).await?;
        self.sees_confirmation_page().await
    }

    /// Waits until the page was drawn twice: then its observers have run.
    async fn sees_what_a_page_has_drawn(&self) -> WebDriverResult<()> {
        let twice = "const done = arguments[0]; \
                     requestAnimationFrame(() => requestAnimationFrame(() => setInterval(done, 0)));";
        let drawn = self.browser.execute_async(twice, Vec::new());
        drawn.await.map(drop)
    }
}

/// A script that stops a page's timers, and keeps their callbacks.
const FREEZE: &str = "window.setTimeout = (later, ms) => { window.kept = { later, ms }; return 1; }; \
                      window.clearTimeout = () => { window.kept = null; };";

/// Opens the authorization URL of `login`, on whose page no timer ends.
async fn is_asked_by_a_frozen_page(
    user: &User<'_>,
    app: &Application,
    login: &CleanLogin,
) -> WebDriverResult<()> {
    user.runs_on_every_page(FREEZE).await?;
    user.opens(&login.authorization_url).await?;
    app.asks(user).await
}

// Threats: X11.
#[tokio::test(flavor = "multi_thread")]
async fn continue_does_nothing_until_the_page_was_in_front_for_a_second() {
    at_the_stack!(async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        is_asked_by_a_frozen_page(&user, &app, &login).await?;
        user.presses_continue_in_vain().await?;
        assert_eq!(user.runs("return window.kept.ms").await?, json!(1000));

        // Another window comes in front: the second begins anew.
        user.runs("document.hasFocus = () => false; window.dispatchEvent(new Event('blur'))")
            .await?;
        assert_eq!(user.runs("return window.kept").await?, Value::Null);
        user.presses_continue_in_vain().await?;
        user.runs("document.hasFocus = () => true; window.dispatchEvent(new Event('focus'))")
            .await?;
        user.presses_continue_in_vain().await?;
        app.waits_for(&login).await;

        user.runs("window.kept.later()").await?;
        user.waits_and_continues().await?;
        user.is_at_the_mock_of("google").await?;
    });
}

/// A user who is made to click fast presses again and again, the last time for long.
// Threats: W5.
#[tokio::test(flavor = "multi_thread")]
async fn a_press_that_begins_too_early_starts_the_second_anew_and_does_not_count() {
    at_the_stack!(async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        is_asked_by_a_frozen_page(&user, &app, &login).await?;
        for _ in 0..3 {
            user.runs("window.kept.is_old = true").await?;
            user.presses_continue_in_vain().await?;
            assert_eq!(user.runs("return window.kept.is_old").await?, Value::Null);
        }
        user.runs("document.dispatchEvent(new Event('pointerdown')); window.kept.later()")
            .await?;
        user.runs("document.querySelector('form.waits').requestSubmit()")
            .await?;
        user.is_at(&login.authorization_url).await?;
        app.waits_for(&login).await;

        user.runs("window.kept.later()").await?;
        user.waits_and_continues().await?;
        user.is_at_the_mock_of("google").await?;
    });
}

/// A popup of the attacker's: three lines high, and scrolled to the button by a
/// fragment that names its text.
// Threats: G3.
#[tokio::test(flavor = "multi_thread")]
async fn continue_waits_until_everything_above_it_was_in_view() {
    at_the_stack!(async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        user.runs_on_every_page(FREEZE).await?;
        user.has_a_window_of(300, 90).await?;
        user.opens(&format!(
            "{}#:~:text=Cancel-,Continue",
            login.authorization_url
        ))
        .await?;
        user.sees_confirmation_page().await?;
        user.sees_what_a_page_has_drawn().await?;
        assert_eq!(user.runs("return window.kept").await?, Value::Null);
        user.presses(Key::Tab).await?;
        user.presses(Key::Tab).await?;
        user.presses(Key::Enter).await?;
        user.presses_continue_in_vain().await?;
        app.waits_for(&login).await;

        user.has_a_window_of(390, 844).await?;
        user.sees_what_a_page_has_drawn().await?;
        assert_eq!(user.runs("return window.kept.ms").await?, json!(1000));
        user.runs("window.kept.later()").await?;
        user.waits_and_continues().await?;
        user.is_at_the_mock_of("google").await?;
    });
}

/// Cookies that a sister subdomain makes too large have the script refused.
// Threats: G5.
#[tokio::test(flavor = "multi_thread")]
async fn continue_stays_disabled_when_the_script_does_not_load() {
    at_the_stack!(async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        user.sends_chromium("Network.enable", json!({})).await?;
        let blocked = json!({ "urls": ["*/question.js"] });
        user.sends_chromium("Network.setBlockedURLs", blocked)
            .await?;
        user.opens(&login.authorization_url).await?;
        app.asks(&user).await?;
        user.presses_continue_in_vain().await?;
        let is_disabled = "return document.querySelector('.scripted').disabled";
        assert_eq!(user.runs(is_disabled).await?, true);
        user.presses(Key::Tab).await?;
        user.presses(Key::Tab).await?;
        user.presses(Key::Enter).await?;
        user.is_at(&login.authorization_url).await?;
        app.waits_for(&login).await;
        user.cancels_confirmation().await?;
        user.sees_heading("Home").await?;
        app.is_denied(&login).await;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_works_by_keyboard() {
    at_the_stack!(async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        // A fragment focuses what it names, and names nothing here.
        user.opens(&format!("{}#continue", login.authorization_url))
            .await?;
        app.asks(&user).await?;
        user.sees_continue_enabled().await?;
        assert_eq!(user.focus().await?, "");
        user.presses(Key::Tab).await?;
        assert_eq!(user.focus().await?, "Cancel");
        user.presses(Key::Tab).await?;
        assert_eq!(user.focus().await?, "Continue");
        user.presses(Key::Enter).await?;
        user.is_at_the_mock_of("google").await?;
    });
}

// Threats: X11.
#[tokio::test(flavor = "multi_thread")]
async fn the_stylesheet_holds_continue_back_for_a_second_too() {
    at_the_stack!(async |stack, user| {
        let app = Application::at(&stack).await;
        let login = app.login().await;
        user.opens(&login.authorization_url).await?;
        app.asks(&user).await?;
        let seen = "
            const button = document.querySelector('.waits button');
            button.style.animation = 'none';
            button.getBoundingClientRect();
            button.style.animation = '';
            const [wait] = button.getAnimations();
            wait.pause();
            return [0, 999, 1000].map((ms) => {
                wait.currentTime = ms;
                return getComputedStyle(button).visibility;
            });";
        let seen = user.runs(seen).await?;
        assert_eq!(seen, json!(["hidden", "hidden", "visible"]));
    });
}

// Threats: G3.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_works_without_scripts_but_shows_no_continue_in_a_small_window() {
    at_the_stack!(async |stack, user| {
        let login = Application::at(&stack).await.login().await;
        // If scripts ran, Continue would never wake.
        user.runs_on_every_page(FREEZE).await?;
        user.disables_scripts().await?;
        user.has_a_window_of(390, 844).await?;
        user.opens(&login.authorization_url).await?;
        user.sees_continue_enabled().await?;
        for (width, height) in [(300, 90), (280, 800)] {
            user.has_a_window_of(width, height).await?;
            let button = "[data-question] button[value=continue]";
            let shown = user.counts_shown(button).await?;
            assert_eq!(shown, 0, "{width} × {height}");
        }
        user.has_a_window_of(390, 844).await?;
        user.waits_and_continues().await?;
        user.is_at_the_mock_of("google").await?;
    });
}

// Threats: X10, V8.
#[tokio::test(flavor = "multi_thread")]
async fn an_outbound_link_of_the_app_is_vouched_for_unless_it_is_noreferrer() {
    at_the_stack!(async |stack, user| {
        let app = Application::at(&stack).await;
        for (rel, is_asked) in [("", false), ("noreferrer", true)] {
            let login = app.login().await;
            let evil = Site::called("evil.localhost").await;
            evil.leads("/out", &login.authorization_url);
            let link = format!("<a rel=\"{rel}\" href=\"{}\">more</a>", evil.url("/out"));
            app.site.shows("/forum", &link);
            user.opens(&app.site.url("/forum")).await?;
            user.follows_link().await?;
            if is_asked {
                app.asks(&user).await?;
            } else {
                // What remains: it began on a page of the app, and that is all
                // that a browser reports.
                user.is_at_the_mock_of("google").await?;
            }
        }
    });
}

/// A page of the app that forwards by script or meta refresh is where the
/// navigation began; a redirect of HTTP is not, and `no-referrer` hides the page.
// Threats: G8.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_app_that_forwards_is_vouched_for_unless_it_hides_itself() {
    at_the_stack!(async |stack, user| {
        let app = Application::at(&stack).await;
        let hides = "<meta name=\"referrer\" content=\"no-referrer\">";
        for (forward, is_asked) in [
            ("refresh", false),
            ("script", false),
            ("hidden script", true),
            ("redirect", true),
        ] {
            let url = app.login().await.authorization_url;
            let refresh = format!("<meta http-equiv=\"refresh\" content=\"0;url={url}\">");
            let script = format!("<script>location.replace('{url}')</script>");
            match forward {
                "refresh" => app.site.shows("/out", &refresh),
                "script" => app.site.shows("/out", &script),
                "hidden script" => app.site.shows("/out", &format!("{hides}{script}")),
                _ => app.site.leads("/out", &url),
            }
            let evil = lure(&app.site.url("/out")).await;
            user.opens(&evil.url("/")).await?;
            user.follows_link().await?;
            if is_asked {
                app.asks(&user).await?;
            } else {
                user.is_at_the_mock_of("google").await?;
            }
        }
    });
}

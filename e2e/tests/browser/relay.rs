//! The page that asks, in a real browser: who meets it, and that its Continue
//! cannot be pressed by mistake.

use reqwest::Method;
use serde_json::{Value, json};

use crate::person::Flow;
use crate::site::Site;

/// An app of its own at a stack: a project, and a site that starts its logins.
pub(crate) struct App<'a> {
    stack: &'a stack::Stack,
    pub(crate) site: Site,
    pub(crate) project: Value,
}

impl<'a> App<'a> {
    pub(crate) async fn at(stack: &'a stack::Stack) -> Self {
        let site = Site::called("localhost").await;
        site.shows("/callback", "<h1>Home</h1>");
        let new = json!({ "name": "Tickets & More", "redirect_uris": [site.url("/callback")] });
        let project = call(&format!("{}/api/projects", stack.urls().control), new).await;
        Self {
            stack,
            site,
            project,
        }
    }

    /// What the backend tells of a login.
    pub(crate) async fn login(&self) -> Login<'_, 'a> {
        let key = contract::SessionKey::from_random(&broker::random::bytes32());
        let mut login = Login {
            app: self,
            key: key.expose().to_owned(),
            url: String::new(),
        };
        let started = login.call("session", json!({ "provider": "google" })).await;
        login.url = started["authorization_url"].as_str().unwrap().to_owned();
        login
    }
}

/// A login of the app.
pub(crate) struct Login<'a, 's> {
    app: &'a App<'s>,
    key: String,
    pub(crate) url: String,
}

impl Login<'_, '_> {
    pub(crate) async fn result(&self) -> Value {
        self.call("result", json!({})).await
    }

    async fn call(&self, what: &str, mut body: Value) -> Value {
        for field in ["client_id", "client_secret"] {
            body[field] = self.app.project[field].clone();
        }
        body["redirect_uri"] = self.app.project["redirect_uris"][0].clone();
        body["session_key"] = self.key.clone().into();
        let broker = &self.app.stack.urls().broker;
        call(&format!("{broker}/v1/login/{what}"), body).await
    }
}

async fn call(url: &str, body: Value) -> Value {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.request(Method::POST, url).json(&body);
    request.send().await.unwrap().json().await.unwrap()
}

/// Somebody else's site, with a link to `bait`.
async fn lure(bait: &str) -> Site {
    let site = Site::called("evil.localhost").await;
    let link = format!("<p>Free tickets: <a href=\"{bait}\">here</a>");
    site.shows("/", &link);
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_a_strangers_link_is_asked_and_signs_in_only_by_a_click() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        // A fragment must not get through either.
        let evil = lure(&format!("{}#planted", login.url)).await;
        person.opens(&evil.url("/")).await?;
        person.follows_link().await?;
        person.is_asked("Tickets & More", &app.site.url("")).await?;
        person.takes_picture("relay-1-question").await?;
        assert_eq!(login.result().await, json!({ "status": "pending" }));

        person.waits_and_continues().await?;
        person.is_at_the_imitation_of("google").await?;
        person.chooses("ada").await?;
        person.sees_heading("Home").await?;
        person.is_at(&app.site.url("/callback")).await?;
        assert_eq!(login.result().await["profile"]["name"], "Ada Lovelace");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cancels_ends_the_strangers_login() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        let evil = lure(&login.url).await;
        person.opens(&evil.url("/")).await?;
        person.follows_link().await?;
        person.is_asked("Tickets & More", &app.site.url("")).await?;
        person.cancels_the_question().await?;
        person.sees_heading("Home").await?;
        let denied = json!({ "status": "failed", "error": "access_denied" });
        assert_eq!(login.result().await, denied);
    });
}

/// Time stands still on a page: what is to happen later is kept.
const FREEZE: &str = "window.setTimeout = (later, ms) => { window.kept = { later, ms }; return 1; }; \
                      window.clearTimeout = () => { window.kept = null; };";

#[tokio::test(flavor = "multi_thread")]
async fn continue_does_nothing_until_the_page_was_in_front_for_a_second() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        person.lets_pages_begin_with(FREEZE).await?;
        person.opens(&login.url).await?;
        person.is_asked("Tickets & More", &app.site.url("")).await?;
        person.presses_continue_in_vain().await?;
        assert_eq!(person.runs("return window.kept.ms").await?, json!(1000));

        // Another window comes in front: the second begins anew.
        person
            .runs("document.hasFocus = () => false; window.dispatchEvent(new Event('blur'))")
            .await?;
        assert_eq!(person.runs("return window.kept").await?, Value::Null);
        person.presses_continue_in_vain().await?;
        person
            .runs("document.hasFocus = () => true; window.dispatchEvent(new Event('focus'))")
            .await?;
        person.presses_continue_in_vain().await?;
        person.takes_picture("relay-2-waiting").await?;
        assert_eq!(login.result().await, json!({ "status": "pending" }));

        person.runs("window.kept.later()").await?;
        person.waits_and_continues().await?;
        person.is_at_the_imitation_of("google").await?;
    });
}

/// A popup of the attacker's: three lines high, and scrolled to the button by a
/// fragment that names its text.
#[tokio::test(flavor = "multi_thread")]
async fn continue_waits_until_everything_above_it_was_in_view() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        person.lets_pages_begin_with(FREEZE).await?;
        person.has_a_window_of(300, 90).await?;
        person
            .opens(&format!("{}#:~:text=Cancel-,Continue", login.url))
            .await?;
        person.finds_the_question().await?;
        person.sees_what_a_page_has_drawn().await?;
        person.takes_picture("relay-7-popup").await?;
        assert_eq!(person.runs("return window.kept").await?, Value::Null);
        person.presses_tab().await?;
        person.presses_tab().await?;
        person.presses_enter().await?;
        person.presses_continue_in_vain().await?;
        assert_eq!(login.result().await, json!({ "status": "pending" }));

        person.has_a_window_of(390, 844).await?;
        person.sees_what_a_page_has_drawn().await?;
        assert_eq!(person.runs("return window.kept.ms").await?, json!(1000));
        person.runs("window.kept.later()").await?;
        person.waits_and_continues().await?;
        person.is_at_the_imitation_of("google").await?;
    });
}

/// Cookies that a sister subdomain makes too large have the script refused.
#[tokio::test(flavor = "multi_thread")]
async fn continue_stays_disabled_when_the_script_does_not_load() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        person.cannot_load("*/question.js").await?;
        person.opens(&login.url).await?;
        person.is_asked("Tickets & More", &app.site.url("")).await?;
        person.presses_continue_in_vain().await?;
        let is_disabled = "return document.querySelector('.scripted').disabled";
        assert_eq!(person.runs(is_disabled).await?, true);
        person.presses_tab().await?;
        person.presses_tab().await?;
        person.presses_enter().await?;
        person.is_at(&login.url).await?;
        assert_eq!(login.result().await, json!({ "status": "pending" }));
        person.cancels_the_question().await?;
        person.sees_heading("Home").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_works_by_keyboard() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        // A fragment focuses what it names, and names nothing here.
        person.opens(&format!("{}#continue", login.url)).await?;
        person.is_asked("Tickets & More", &app.site.url("")).await?;
        person.sees_continue_awake().await?;
        assert_eq!(person.focus().await?, "");
        person.presses_tab().await?;
        assert_eq!(person.focus().await?, "Cancel");
        person.presses_tab().await?;
        assert_eq!(person.focus().await?, "Continue");
        person.presses_enter().await?;
        person.is_at_the_imitation_of("google").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stylesheet_holds_continue_back_for_a_second_too() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        person.opens(&login.url).await?;
        person.is_asked("Tickets & More", &app.site.url("")).await?;
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
        let seen = person.runs(seen).await?;
        assert_eq!(seen, json!(["hidden", "hidden", "visible"]));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_works_without_scripts() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        // If scripts ran, Continue would never wake.
        person.lets_pages_begin_with(FREEZE).await?;
        person.forbids_scripts().await?;
        person.opens(&login.url).await?;
        person.waits_and_continues().await?;
        person.is_at_the_imitation_of("google").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_a_small_window_shows_no_continue() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        person.forbids_scripts().await?;
        person.has_a_window_of(390, 844).await?;
        person.opens(&login.url).await?;
        person.sees_continue_awake().await?;
        for (width, height) in [(300, 90), (280, 800)] {
            person.has_a_window_of(width, height).await?;
            let shown = person
                .counts_shown("form[action$='/continue'] button")
                .await?;
            assert_eq!(shown, 0, "{width} × {height}");
        }
        person.takes_picture("relay-8-small-unscripted").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_fits_a_phone_by_day_and_by_night() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let login = app.login().await;
        person.holds_a_phone().await?;
        person.opens(&login.url).await?;
        person.is_asked("Tickets & More", &app.site.url("")).await?;
        person
            .sees_no_sideways_scroll("relay-3-phone-waiting")
            .await?;
        person.sees_continue_awake().await?;
        person.sees_no_sideways_scroll("relay-4-phone").await?;
        person.sits_in_the_dark().await?;
        person.sees_no_sideways_scroll("relay-5-phone-dark").await?;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outbound_link_of_the_app_is_vouched_for_unless_it_is_noreferrer() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        for (rel, is_asked) in [("", false), ("noreferrer", true)] {
            let login = app.login().await;
            let evil = Site::called("evil.localhost").await;
            evil.leads("/out", &login.url);
            let link = format!("<a rel=\"{rel}\" href=\"{}\">more</a>", evil.url("/out"));
            app.site.shows("/forum", &link);
            person.opens(&app.site.url("/forum")).await?;
            person.follows_link().await?;
            if is_asked {
                person.is_asked("Tickets & More", &app.site.url("")).await?;
            } else {
                // What remains: it began on a page of the app, and that is all
                // that a browser tells.
                person.is_at_the_imitation_of("google").await?;
            }
        }
    });
}

/// A page of the app that forwards by script or meta refresh is where the
/// navigation began; a redirect of HTTP is not, and `no-referrer` hides the page.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_app_that_forwards_is_vouched_for_unless_it_hides_itself() {
    at_the_demo!(async |stack, person| {
        let app = App::at(&stack).await;
        let refresh = |url: &str| format!("<meta http-equiv=\"refresh\" content=\"0;url={url}\">");
        let script = |url: &str| format!("<script>location.replace('{url}')</script>");
        let hidden =
            |html: String| format!("<meta name=\"referrer\" content=\"no-referrer\">{html}");
        for (forward, is_asked) in [
            ("refresh", false),
            ("script", false),
            ("hidden", true),
            ("redirect", true),
        ] {
            let login = app.login().await;
            match forward {
                "refresh" => app.site.shows("/out", &refresh(&login.url)),
                "script" => app.site.shows("/out", &script(&login.url)),
                "hidden" => app.site.shows("/out", &hidden(script(&login.url))),
                _ => app.site.leads("/out", &login.url),
            }
            let evil = lure(&app.site.url("/out")).await;
            person.opens(&evil.url("/")).await?;
            person.follows_link().await?;
            if is_asked {
                person.is_asked("Tickets & More", &app.site.url("")).await?;
            } else {
                person.is_at_the_imitation_of("google").await?;
            }
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn the_legacy_flow_ends_the_attack_without_a_question() {
    at_the_demo!(async |stack, person| {
        person.goes_home().await?;
        // The attacker's own address, as the demo built it.
        let attacker = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let start = format!("{}/legacy/login/google", stack.urls().consumer);
        let answer = attacker.post(start).send().await.unwrap();
        let bait = answer.headers()["location"].to_str().unwrap();
        let evil = lure(&bait.replace('&', "&amp;")).await;
        person.opens(&evil.url("/")).await?;
        person.follows_link().await?;
        person.is_at_the_imitation_of("google").await?;
        person.chooses("ada").await?;
        person.meets_problem("no_session").await?;
        person.takes_picture("relay-6-legacy").await?;
        // Their own sign-in is not disturbed.
        person.goes_home().await?;
        person.starts(Flow::Legacy, "google").await?;
        person.is_at_the_imitation_of("google").await?;
    });
}

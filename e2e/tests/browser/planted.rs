//! Cookies that an attacker plants in the victim's browser, from a sister subdomain or
//! otherwise: the demo does not accept them, and they give the attacker no result.

use reqwest::header::{COOKIE, ORIGIN};
use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::http::Http;
use thirtyfour::error::WebDriverResult;

use crate::chromium;
use crate::tls_stack::{self, PARENT, TlsStack};
use crate::user::{Flow, User};

/// Runs a test with a user at the demo of a fresh stack over TLS.
async fn over_tls(test: impl AsyncFnOnce(&TlsStack, &User<'_>) -> WebDriverResult<()>) {
    let stack = TlsStack::start().await;
    let session = chromium::open_with(tls_stack::ARGUMENTS).await;
    let user = User::at_url(&session, &stack.app);
    chromium::close_after(&session, test(&stack, &user)).await;
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

/// Has the sister subdomain set `value` under `name` for the parent domain, in a
/// browser that holds nothing else.
async fn plant(stack: &TlsStack, user: &User<'_>, name: &str, value: &str) -> WebDriverResult<()> {
    user.forgets_cookies().await?;
    let line = format!("{name}={value}; Domain={PARENT}; Path=/; Secure; SameSite=Lax");
    stack.sister.sets_cookies("/plant", vec![line]);
    user.opens(&format!("{}/plant", stack.sister_url)).await?;
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
    over_tls(async |stack, user| {
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.chooses("ada").await?;
        user.is_signed_in_as("Ada Lovelace").await?;
        let session = cookie(user, "__Host-demo_session").await?;
        let value = session["value"].as_str().unwrap();
        for planted in spellings("__Host-demo_session") {
            plant(stack, user, &planted, value).await?;
            user.opens(&format!("{}/profile", stack.app)).await?;
            user.is_signed_out().await?;
        }
        // The session itself is alive: it was the names that did not serve.
        user.is_given_cookies(&[session]).await?;
        user.opens(&format!("{}/profile", stack.app)).await?;
        user.is_signed_in_as("Ada Lovelace").await
    })
    .await;
}

// Threats: G1.
#[tokio::test(flavor = "multi_thread")]
async fn a_sister_subdomain_plants_no_upstream_login_at_the_broker() {
    over_tls(async |stack, user| {
        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.is_at_the_mock_of("google").await?;
        let provider = user.address().await?;
        let login = cookie(user, "__Host-fsi_trip_").await?;
        let (name, value) = (&login["name"], login["value"].as_str().unwrap());
        for planted in spellings(name.as_str().unwrap()) {
            plant(stack, user, &planted, value).await?;
            user.opens(&provider).await?;
            user.chooses("ada").await?;
            user.sees_rule("upstream_login.own_browser").await?;
        }
        // The login itself is alive: it was the names that did not serve.
        user.is_given_cookies(&[login]).await?;
        user.opens(&provider).await?;
        user.chooses("ada").await?;
        user.sees_problem("no_session").await
    })
    .await;
}

// Threats: V5, G2.
#[tokio::test(flavor = "multi_thread")]
async fn a_planted_session_does_not_let_its_owner_read_the_victims_result() {
    over_tls(async |stack, user| {
        let attacker = Attacker::with_a_login_under_way(stack).await;
        user.opens_the_demo().await?;
        user.is_given_cookies(&[attacker.session(stack)]).await?;
        user.starts(Flow::Clean, "google").await?;
        user.is_at_the_mock_of("google").await?;
        let planted = cookie(user, "__Host-demo_session").await?;
        assert_eq!(planted["value"], attacker.session(stack)["value"]);

        // The result is there and the victim is redirected: the attacker has as
        // much time as a slow line would give.
        stack.app_gate.close();
        let attack = async {
            stack.app_gate.wait_for_a_request().await;
            let locations = attacker.asks_the_callback(32).await;
            stack.app_gate.open();
            locations
        };
        let (chosen, locations) = tokio::join!(user.chooses("ada"), attack);
        chosen?;
        assert_eq!(locations, vec![None; 32], "the attacker is sent nowhere");
        user.is_signed_in_as("Ada Lovelace").await
    })
    .await;
}

/// The sister's server is also on another port of the broker's own host name, for which it
/// plants what a sister subdomain cannot.
// Threats: W1.
#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_login_planted_from_another_port_signs_no_attacker_in() {
    over_tls(async |stack, user| {
        let app = Http::at(format!("http://{}", stack.app_in_clear));
        let start = app.post("/login/google").header(ORIGIN, &stack.app);
        let login = start.send().await.location().unwrap().to_owned();
        let signin = Http::at(&stack.signin).listening_at(stack.signin_in_clear);
        let attacker = Browser::with_http(signin).on_page("https://evil.example/");
        let (page, confirmed) = (format!("{}/", stack.signin), format!("{login}/continue"));
        let redirect = attacker.press(&page, &confirmed).await;
        let planted = attacker.cookies(&stack.signin).into_iter();
        let attributes = "Path=/; Secure; HttpOnly; SameSite=Lax";
        let lines = planted.map(|(name, value)| format!("{name}={value}; {attributes}"));
        stack.sister.sets_cookies("/plant", lines.collect());
        let other_port = stack.sister_url.replacen("evil.", "signin.", 1);
        user.opens(&format!("{other_port}/plant")).await?;
        cookie(user, "__Host-fsi_trip_").await?;

        user.opens(redirect.location().unwrap()).await?;
        user.chooses("ada").await?;
        user.sees_confirmation_page().await
    })
    .await;
}

/// A client of the demo that planted its own live session in the victim's browser.
struct Attacker {
    http: Http,
    cookies: Vec<String>,
}

impl Attacker {
    async fn with_a_login_under_way(stack: &TlsStack) -> Self {
        let http = Http::at(format!("http://{}", stack.app_in_clear));
        let start = http.post("/login/google").header(ORIGIN, &stack.app);
        let started = start.send().await;
        assert_eq!(started.status, 303);
        let lines = started.set_cookies();
        let pair = |line: &String| line.split(';').next().unwrap().to_owned();
        Self {
            cookies: lines.iter().map(pair).collect(),
            http,
        }
    }

    /// Its session's cookie, as it is planted.
    fn session(&self, stack: &TlsStack) -> Value {
        let mut pairs = self.cookies.iter().filter_map(|pair| pair.split_once('='));
        let (name, value) = pairs
            .find(|(name, _)| *name == "__Host-demo_session")
            .unwrap();
        json!({ "name": name, "value": value, "url": stack.app, "path": "/", "secure": true })
    }

    /// Asks so often, one after the other, and returns where each answer led.
    async fn asks_the_callback(&self, times: usize) -> Vec<Option<String>> {
        let mut locations = Vec::new();
        for _ in 0..times {
            let request = self.http.get("/callback");
            let request = request.header(COOKIE, self.cookies.join("; "));
            let response = request.send().await;
            locations.push(response.location().map(ToOwned::to_owned));
        }
        locations
    }
}

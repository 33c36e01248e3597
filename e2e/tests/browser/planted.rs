//! Cookies that an attacker plants in the victim's browser, from a sister subdomain or
//! otherwise: they are not taken for ours, and what they name proves nothing.

use reqwest::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use serde_json::{Value, json};
use thirtyfour::error::WebDriverResult;

use crate::chromium;
use crate::person::{Flow, Person};
use crate::tls_stack::{self, PARENT, TlsStack};

/// Runs a test with a person at the demo of a fresh stack over TLS.
async fn over_tls(test: impl AsyncFnOnce(&TlsStack, &Person<'_>) -> WebDriverResult<()>) {
    let stack = TlsStack::start().await;
    let session = chromium::open_with(tls_stack::ARGUMENTS).await;
    let person = Person::at_url(&session, &stack.app);
    chromium::close_after(&session, test(&stack, &person)).await;
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
async fn plant(
    stack: &TlsStack,
    person: &Person<'_>,
    name: &str,
    value: &str,
) -> WebDriverResult<()> {
    person.forgets_cookies().await?;
    let line = format!("{name}={value}; Domain={PARENT}; Path=/; Secure; SameSite=Lax");
    stack.sister.sets_cookies("/plant", vec![line]);
    person.opens(&format!("{}/plant", stack.sister_url)).await?;
    let kept = person.holds_cookies().await?;
    assert_eq!(kept.len(), 1, "Chromium kept {name}: {kept:?}");
    Ok(())
}

/// The one cookie whose name begins like this.
async fn cookie(person: &Person<'_>, start: &str) -> WebDriverResult<Value> {
    let all = person.holds_cookies().await?;
    let mut found = all
        .iter()
        .filter(|it| it["name"].as_str().unwrap().starts_with(start));
    let cookie = found.next().expect("the cookie").clone();
    assert!(found.next().is_none(), "one cookie {start}");
    assert_eq!(cookie["secure"], true);
    Ok(cookie)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sister_subdomain_plants_no_session_at_the_demo() {
    over_tls(async |stack, person| {
        person.goes_home().await?;
        person.starts(Flow::Clean, "google").await?;
        person.chooses("ada").await?;
        person.is_signed_in_as("Ada Lovelace").await?;
        let session = cookie(person, "__Host-demo_session").await?;
        let value = session["value"].as_str().unwrap();
        for planted in spellings("__Host-demo_session") {
            plant(stack, person, &planted, value).await?;
            person.opens(&format!("{}/profile", stack.app)).await?;
            person.is_signed_out().await?;
        }
        // The session itself is alive: it was the names that did not serve.
        person.is_given_cookies(&[session]).await?;
        person.opens(&format!("{}/profile", stack.app)).await?;
        person.is_signed_in_as("Ada Lovelace").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sister_subdomain_plants_no_upstream_login_at_the_broker() {
    over_tls(async |stack, person| {
        person.goes_home().await?;
        person.starts(Flow::Clean, "google").await?;
        person.is_at_the_imitation_of("google").await?;
        let provider = person.address().await?;
        let login = cookie(person, "__Host-fsi_trip_").await?;
        let (name, value) = (&login["name"], login["value"].as_str().unwrap());
        for planted in spellings(name.as_str().unwrap()) {
            plant(stack, person, &planted, value).await?;
            person.opens(&provider).await?;
            person.chooses("ada").await?;
            person.meets_rule("upstream_login.own_browser").await?;
        }
        // The login itself is alive: it was the names that did not serve.
        person.is_given_cookies(&[login]).await?;
        person.opens(&provider).await?;
        person.chooses("ada").await?;
        person.meets_problem("no_session").await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_session_does_not_let_its_owner_read_the_victims_result() {
    over_tls(async |stack, person| {
        let attacker = Attacker::with_a_login_under_way(stack).await;
        person.goes_home().await?;
        person.is_given_cookies(&[attacker.session(stack)]).await?;
        person.starts(Flow::Clean, "google").await?;
        person.is_at_the_imitation_of("google").await?;
        let planted = cookie(person, "__Host-demo_session").await?;
        assert_eq!(planted["value"], attacker.session(stack)["value"]);

        // The result is there and the victim on the way home: the attacker has as
        // much time as a slow line would give.
        stack.app_gate.close();
        let attack = async {
            stack.app_gate.wait_for_a_request().await;
            let locations = attacker.asks_the_callback(32).await;
            stack.app_gate.open();
            locations
        };
        let (chosen, locations) = tokio::join!(person.chooses("ada"), attack);
        chosen?;
        assert_eq!(locations, vec![None; 32], "the attacker is sent nowhere");
        person.is_signed_in_as("Ada Lovelace").await
    })
    .await;
}

/// A client of the demo that planted its own live session in the victim's browser.
struct Attacker {
    http: reqwest::Client,
    callback: String,
    cookies: Vec<String>,
}

impl Attacker {
    async fn with_a_login_under_way(stack: &TlsStack) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let at = format!("http://{}", stack.app_in_clear);
        let start = http.post(format!("{at}/login/google"));
        let started = start.header(ORIGIN, &stack.app).send().await.unwrap();
        assert_eq!(started.status(), 303);
        let lines = started.headers().get_all(SET_COOKIE).iter();
        let pair = |line: &reqwest::header::HeaderValue| {
            let line = line.to_str().unwrap();
            line.split(';').next().unwrap().to_owned()
        };
        Self {
            cookies: lines.map(pair).collect(),
            callback: format!("{at}/callback"),
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
            let request = self.http.get(&self.callback);
            let request = request.header(COOKIE, self.cookies.join("; "));
            let answer = request.send().await.unwrap();
            let location = answer.headers().get(LOCATION);
            locations.push(location.map(|it| it.to_str().unwrap().to_owned()));
        }
        locations
    }
}

//! The least backend that signs users in through the broker, by the clean flow: to read, and to
//! begin with. Its logins and sessions are in memory: in an application of yours they are tables
//! that all its processes share. The start of a login needs a rate limit by address at your proxy:
//! it takes no credentials, and ends the oldest login when all places are taken.

#![expect(
    clippy::disallowed_methods,
    reason = "an application of its own reads its settings and the time, and draws its secrets"
)]

use std::collections::BTreeMap;
use std::env;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rocket::fairing::AdHoc;
use rocket::http::{Cookie, CookieJar, Method, SameSite, Status};
use rocket::request::{FromRequest, Outcome};
use rocket::response::{Redirect, content::RawHtml};
use rocket::{Build, Config, Request, Rocket, State, get, head, launch, post, routes};
use serde_json::{Value, json};

// The sign-in

#[post("/login/<provider>")]
async fn start_login(provider: &str, app: &State<App>, browser: Browser<'_>) -> Answer {
    let key = secret(); // new for each login; it stays in the backend
    let login = app.call("/v1/login/session", &key, Some(provider)).await?;
    browser.keep_login(key, provider); // under a new cookie, of this login alone
    Ok(Redirect::to(app.address_of(&login)?)) // the broker's alone
}

#[get("/callback")]
async fn finish_login(app: &State<App>, browser: Browser<'_>) -> Answer {
    for (cookie, login) in browser.take_logins() {
        let result = app.call("/v1/login/result", &login.key, None).await?; // read once
        if result["status"] != "pending" {
            browser.renew_session(subject_of(&result, &login.provider)?); // the key of the account
            return Ok(Redirect::to("/"));
        }
        app.logins.rows().insert(cookie, login); // put back: another tab's
    }
    Err(page(Status::BadRequest, NO_LOGIN))
}

// What it needs

/// For HEAD, which Rocket gives to the handler of GET.
#[head("/callback")]
fn look_at_callback() {}

type Answer = Result<Redirect, Page>;
type Page = (Status, RawHtml<String>);

const NO_LOGIN: &str = "No finished sign-in was found in this browser. Please start again.";

/// The cookies of the logins that one browser has under way.
const LOGINS: [&str; 4] = ["login_0", "login_1", "login_2", "login_3"];

struct App {
    broker: String,
    here: String,
    /// The credentials of the project.
    project: [String; 2],
    http: reqwest::Client,
    /// Apart, so that starting logins signs no user out.
    logins: Table<Login>,
    /// The subjects of the signed-in users.
    sessions: Table<String>,
    max_sessions: usize,
}

/// Values by their cookies, the oldest first: a cookie begins with the time of its end.
struct Table<T>(Mutex<BTreeMap<String, T>>);

struct Login {
    key: String,
    provider: String,
}

impl App {
    /// Sent once. If the answer is lost, or is not the broker's, a new login is the only way.
    async fn call(&self, path: &str, key: &str, provider: Option<&str>) -> Result<Value, Page> {
        let [client_id, client_secret] = &self.project;
        let mut fields = json!({
            "client_id": client_id,
            "client_secret": client_secret,
            "redirect_uri": format!("{}/callback", self.here),
            "session_key": key,
        });
        if let Some(provider) = provider {
            fields["provider"] = provider.into();
        }
        let url = format!("{}{path}", self.broker);
        let answer = self.http.post(url).json(&fields).send().await;
        let answer = answer.map_err(|_| no_answer())?;
        let kind = answer.headers().get("Content-Type");
        let is_json = kind.is_some_and(|it| it.as_bytes().starts_with(b"application/json"));
        match answer.status().as_u16() {
            200 if is_json => answer.json().await.map_err(|_| no_answer()),
            _ => Err(no_answer()),
        }
    }

    /// Of the broker's origin, without query: users are sent nowhere else.
    fn address_of(&self, login: &Value) -> Result<String, Page> {
        let address = login["authorization_url"].as_str().unwrap_or_default();
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._~%-".contains(it);
        match address.strip_prefix(&self.broker) {
            Some(path) if path.starts_with('/') && path.chars().all(is_plain) => Ok(address.into()),
            _ => Err(no_answer()),
        }
    }

    fn cookie_name(&self, of: &str) -> String {
        let prefix = if self.is_secure() { "__Host-" } else { "" };
        format!("{prefix}minimal_{of}")
    }

    fn is_secure(&self) -> bool {
        self.here.starts_with("https:")
    }
}

impl<T> Table<T> {
    /// Those that are not over.
    fn rows(&self) -> MutexGuard<'_, BTreeMap<String, T>> {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while rows
            .first_key_value()
            .is_some_and(|(cookie, _)| *cookie < in_seconds(0))
        {
            rows.pop_first();
        }
        rows
    }
}

/// The browser that sent a request, which is a form of ours or a user's visit.
#[derive(Clone, Copy)]
struct Browser<'r> {
    app: &'r App,
    sent: &'r str,
    jar: &'r CookieJar<'r>,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Browser<'r> {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        let app = request.rocket().state::<App>().expect("it is managed");
        let header = |name| request.headers().get_one(name).unwrap_or_default();
        // Any page can send a form here, but its browser names it. No user sees a prefetch.
        let is_foreign = request.method() == Method::Post && header("Origin") != app.here;
        if is_foreign || header("Sec-Purpose").contains("prefetch") {
            return Outcome::Error((Status::Forbidden, ()));
        }
        let (sent, jar) = (header("Cookie"), request.cookies());
        Outcome::Success(Self { app, sent, jar })
    }
}

impl<'r> Browser<'r> {
    /// Byte for byte. Of two with one name, one was planted, and neither is taken.
    fn cookie(&self, name: &str) -> Option<&'r str> {
        let (name, pairs) = (self.app.cookie_name(name), self.sent.split(';'));
        let pairs = pairs.filter_map(|pair| pair.trim_matches(' ').split_once('='));
        let mut values = pairs.filter(|pair| pair.0 == name).map(|pair| pair.1);
        values.next().filter(|_| values.next().is_none())
    }

    fn keep<T>(&self, table: &Table<T>, name: &str, seconds: u32, value: T) {
        let cookie = in_seconds(seconds) + &secret();
        let mut rows = table.rows();
        rows.insert(cookie.clone(), value);
        if rows.len() > self.app.max_sessions {
            rows.pop_first();
        }
        // Lax: a Strict cookie does not come back from a provider.
        let cookie = Cookie::build((self.app.cookie_name(name), cookie)).same_site(SameSite::Lax);
        let cookie = cookie.max_age(rocket::time::Duration::seconds(seconds.into()));
        self.jar
            .add(cookie.http_only(true).secure(self.app.is_secure()));
    }

    fn keep_login(&self, key: String, provider: &str) {
        let logins = &self.app.logins;
        let is_live = |cookie| logins.rows().contains_key(cookie);
        let mut names = LOGINS.iter();
        let free = names.find(|name| !self.cookie(name).is_some_and(is_live));
        let provider = provider.to_owned();
        self.keep(
            logins,
            free.unwrap_or(&LOGINS[0]),
            600,
            Login { key, provider },
        );
    }

    /// Takes them out, one by one, the newest first.
    fn take_logins(&self) -> impl Iterator<Item = (String, Login)> {
        let mut cookies: Vec<_> = LOGINS.iter().filter_map(|name| self.cookie(name)).collect();
        cookies.sort_unstable_by(|a, b| b.cmp(a));
        cookies
            .into_iter()
            .filter_map(|cookie| self.app.logins.rows().remove_entry(cookie))
    }

    fn renew_session(&self, subject: String) {
        self.end_session(); // an attacker may know the old one
        self.keep(&self.app.sessions, "session", 8 * 3600, subject);
    }

    fn end_session(&self) -> Option<String> {
        self.app.sessions.rows().remove(self.cookie("session")?)
    }
}

fn subject_of(result: &Value, provider: &str) -> Result<String, Page> {
    if let (Some("failed"), Some(error)) = (result["status"].as_str(), result["error"].as_str()) {
        return Err(page(Status::Ok, &format!("The sign-in failed: {error}.")));
    }
    let profile = &result["profile"];
    let is_text = |name: &&str| profile[*name].as_str().is_some_and(|it| !it.is_empty());
    let is_text_or_null = |name: &&str| profile[*name].is_null() || profile[*name].is_string();
    let is_right = result["status"] == "succeeded"
        && profile["provider"] == provider
        && profile["emailVerified"].is_boolean()
        && ["subject", "providerSubject"].iter().all(is_text)
        && ["name", "username", "email", "avatarUrl"]
            .iter()
            .all(is_text_or_null);
    match profile["subject"].as_str() {
        Some(subject) if is_right => Ok(subject.to_owned()),
        _ => Err(no_answer()),
    }
}

#[post("/logout")]
fn sign_out(browser: Browser<'_>) -> Redirect {
    browser.end_session(); // here, for a copy of the cookie may exist
    Redirect::to("/")
}

#[get("/")]
fn home(app: &State<App>, browser: Browser<'_>) -> Page {
    let rows = app.sessions.rows();
    let user = browser.cookie("session").and_then(|it| rows.get(it));
    let text = user.map_or("You are signed out.".to_owned(), |it| {
        format!("Signed in as {it}.")
    });
    page(Status::Ok, &text)
}

fn no_answer() -> Page {
    page(
        Status::BadRequest,
        "We did not get an answer. Please start again.",
    )
}

fn page(status: Status, text: &str) -> Page {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let button =
        |to, label| format!(r#"<form method="post" action="{to}"><button>{label}</button></form>"#);
    let buttons = button("/login/google", "Sign in with Google") + &button("/logout", "Sign out");
    let html = format!("<!doctype html><title>App</title><p>{text}</p>{buttons}");
    (status, RawHtml(html))
}

#[launch]
fn rocket() -> Rocket<Build> {
    let here = setting("CONSUMER_BASE_URL").unwrap_or_else(|| "http://localhost:5000".into());
    let number = |name| setting(name).and_then(|it| it.parse().ok());
    let needed = |name| setting(name).unwrap_or_else(|| panic!("{name} is missing"));
    // For reqwest without a library of cryptography, as this workspace compiles it. With its
    // feature `rustls` it has one: leave this out.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder()
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(5));
    let app = App {
        broker: needed("SIGNIN_BASE_URL"),
        here,
        project: [needed("SIGNIN_CLIENT_ID"), needed("SIGNIN_CLIENT_SECRET")],
        http: http.build().expect("TLS is compiled in"),
        logins: Table(Mutex::default()),
        sessions: Table(Mutex::default()),
        max_sessions: number("MAX_SESSIONS").unwrap_or(10_000).into(),
    };
    let headers = AdHoc::on_response("Headers", |_, response| {
        response.set_raw_header("Cache-Control", "no-store");
        // No `form-action`: it stops the redirects after a form.
        let policy = "default-src 'none'; frame-ancestors 'none'";
        response.set_raw_header("Content-Security-Policy", policy);
        // No `no-referrer`: the broker looks for it. Rocket adds `nosniff` by itself.
        response.set_raw_header("Referrer-Policy", "strict-origin-when-cross-origin");
        Box::pin(async {})
    });
    let port = number("PORT").unwrap_or(5000);
    rocket::custom(Config {
        port,
        ..Config::default()
    })
    .manage(app)
    .attach(headers)
    .mount(
        "/",
        routes![home, start_login, finish_login, look_at_callback, sign_out],
    )
}

fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// 32 random bytes as base64url, without padding.
fn secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

/// The time after so many seconds, in digits whose order is that of the times.
fn in_seconds(seconds: u32) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!(
        "{:012x}",
        (now + Duration::from_secs(seconds.into())).as_millis()
    )
}

//! The least backend that signs users in through the broker, by the clean flow: to read. To
//! copy, take `consumer-demo`, which answers more attacks. Its sessions are in memory: in an
//! application of yours they are a table, whose rows end after a time. The start of a login needs
//! a rate limit by address at your proxy: it takes no credentials, and ends the oldest when all
//! places are taken.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rocket::fairing::AdHoc;
use rocket::http::{Cookie, CookieJar, SameSite, Status};
use rocket::response::{Redirect, content::RawHtml};
use rocket::{Build, Config, Rocket, State, get, launch, post, routes};
use serde_json::{Value, json};

// The sign-in

#[post("/login/<provider>")]
async fn start_login(provider: &str, app: &State<App>, jar: &Jar<'_>) -> Result<Redirect, Page> {
    let key = secret(); // fresh for each login; it stays in the backend
    let login = app.call("/v1/login/session", &key, Some(provider)).await?;
    app.renew_session(jar, |it| it.key = Some(key)); // an attacker may know the old cookie
    Ok(Redirect::to(text_of(&login["authorization_url"])?))
}

#[get("/callback")]
async fn finish_login(app: &State<App>, jar: &Jar<'_>) -> Result<Redirect, Page> {
    let key = app.take_key(jar)?; // taken out: a result is read once
    let result = app.call("/v1/login/result", &key, None).await?;
    let user = subject_of(&result)?; // the key of the account, if the login succeeded
    app.renew_session(jar, |it| it.user = Some(user));
    Ok(Redirect::to("/"))
}

// What it needs

type Jar<'r> = CookieJar<'r>;
type Page = (Status, RawHtml<String>);

struct App {
    broker: String,
    here: String,
    /// The credentials of the project.
    project: [String; 2],
    http: reqwest::Client,
    sessions: Mutex<Sessions>,
    max_sessions: usize,
}

#[derive(Default)]
struct Sessions {
    /// By the cookie's value.
    by_cookie: HashMap<String, Session>,
    /// The cookies: those of anonymous sessions before those of users, the oldest first.
    in_order: BTreeMap<(bool, u64), String>,
    started: u64,
}

#[derive(Default)]
struct Session {
    number: u64,
    /// The key of the login under way.
    key: Option<String>,
    /// The subject of the signed-in user.
    user: Option<String>,
}

impl App {
    /// Sent once: if the answer is lost, a new login is the only way.
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
        match answer.status().as_u16() {
            200 => answer.json().await.map_err(|_| no_answer()),
            _ => Err(no_answer()),
        }
    }

    fn take_key(&self, jar: &Jar<'_>) -> Result<String, Page> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.by_cookie.get_mut(&cookie_of(jar));
        let key = session.and_then(|session| session.key.take());
        let none = "No sign-in is under way in this browser.";
        key.ok_or_else(|| page(Status::BadRequest, none))
    }

    /// Changes the session, and gives it a new cookie; the old one is worth nothing.
    fn renew_session(&self, jar: &Jar<'_>, change: impl FnOnce(&mut Session)) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = sessions.remove(&cookie_of(jar)).unwrap_or_default();
        change(&mut session);
        let cookie = secret();
        sessions.insert(cookie.clone(), session, self.max_sessions);
        // Lax: a Strict cookie does not come back from a provider.
        let cookie = Cookie::build(("minimal", cookie))
            .max_age(rocket::time::Duration::hours(8))
            .same_site(SameSite::Lax);
        jar.add(
            cookie
                .http_only(true)
                .secure(self.here.starts_with("https:")),
        );
    }
}

impl Sessions {
    /// Starts a session, in the place of another if there is no more room.
    fn insert(&mut self, cookie: String, mut session: Session, capacity: usize) {
        if self.in_order.len() >= capacity
            && let Some((_, oldest)) = self.in_order.pop_first()
        {
            self.by_cookie.remove(&oldest);
        }
        self.started += 1;
        session.number = self.started;
        self.in_order.insert(session.place(), cookie.clone());
        self.by_cookie.insert(cookie, session);
    }

    fn remove(&mut self, cookie: &str) -> Option<Session> {
        let session = self.by_cookie.remove(cookie)?;
        self.in_order.remove(&session.place());
        Some(session)
    }
}

impl Session {
    fn place(&self) -> (bool, u64) {
        (self.user.is_some(), self.number)
    }
}

fn cookie_of(jar: &Jar<'_>) -> String {
    jar.get("minimal").map_or("", Cookie::value).to_owned()
}

#[get("/")]
fn home(app: &State<App>, jar: &Jar<'_>) -> Page {
    let sessions = app.sessions.lock().unwrap_or_else(PoisonError::into_inner);
    let user = sessions
        .by_cookie
        .get(&cookie_of(jar))
        .and_then(|it| it.user.as_deref());
    let text = user.map_or("You are signed out.".to_owned(), |it| {
        format!("Signed in as {it}.")
    });
    page(Status::Ok, &text)
}

fn subject_of(result: &Value) -> Result<String, Page> {
    match (result["status"].as_str(), result["error"].as_str()) {
        (Some("succeeded"), _) => text_of(&result["profile"]["subject"]),
        (_, why) => {
            let why = why.unwrap_or("pending");
            Err(page(Status::Ok, &format!("The sign-in failed: {why}.")))
        }
    }
}

fn text_of(member: &Value) -> Result<String, Page> {
    member.as_str().map(str::to_owned).ok_or_else(no_answer)
}

fn no_answer() -> Page {
    page(
        Status::BadGateway,
        "We did not get an answer. Please start again.",
    )
}

fn page(status: Status, text: &str) -> Page {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let button =
        r#"<form method="post" action="/login/google"><button>Sign in with Google</button></form>"#;
    let html = format!("<!doctype html><title>App</title><p>{text}</p>{button}");
    (status, RawHtml(html))
}

#[launch]
fn rocket() -> Rocket<Build> {
    let here = setting("CONSUMER_BASE_URL").unwrap_or_else(|| "http://localhost:5000".into());
    let port = setting("PORT")
        .and_then(|port| port.parse().ok())
        .unwrap_or(5000);
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
        sessions: Mutex::default(),
        max_sessions: setting("MAX_SESSIONS")
            .and_then(|number| number.parse().ok())
            .unwrap_or(10_000),
    };
    let headers = AdHoc::on_response("Headers", |_, response| {
        response.set_raw_header("Cache-Control", "no-store");
        let policy = "default-src 'none'; frame-ancestors 'none'";
        response.set_raw_header("Content-Security-Policy", policy);
        Box::pin(async {})
    });
    rocket::custom(Config {
        port,
        ..Config::default()
    })
    .manage(app)
    .attach(headers)
    .mount("/", routes![home, start_login, finish_login])
}

#[expect(
    clippy::disallowed_methods,
    reason = "an application of its own reads its settings"
)]
fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// 32 random bytes as base64url, without padding.
#[expect(
    clippy::disallowed_methods,
    reason = "an application of its own draws its secrets"
)]
fn secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

//! The consumer: one page, one button, one session cookie. Replace it by yours. (It is
//! the smallest that passes the tests; the one to learn from is `consumer-demo`.)

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rocket::config::LogLevel;
use rocket::fairing::AdHoc;
use rocket::http::{Cookie, CookieJar, SameSite};
use rocket::request::{FromRequest, Outcome};
use rocket::response::{Redirect, content::RawHtml};
use rocket::{Config, Request, State, get, head, post, routes};
use serde_json::{Value, json};
use tokio::sync::watch;

pub(crate) struct Consumer {
    settings: OnceLock<Settings>,
    http: reqwest::Client,
    /// Sessions by the cookie's value. Their number has no limit, which an app must have.
    sessions: Mutex<HashMap<String, Session>>,
}

/// The settings, set before the first request.
pub(crate) struct Settings {
    pub(crate) callback: String,
    pub(crate) broker: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

enum Session {
    /// A login with this session key.
    UnderWay(String),
    /// The name of the signed-in user.
    SignedIn(String),
}

/// Why a call has no result.
enum CallError {
    Refused,
    /// The answer was lost, and it is unknown what the broker did.
    Lost,
}

type Page = RawHtml<String>;

/// The value of the session's cookie, found by its exact name; of two with one name, one
/// was planted. (Rocket's jar would decode names: see `cookies.rs` of `consumer-demo`.)
struct SessionCookie(String);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for SessionCookie {
    type Error = Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Infallible> {
        let lines = request.headers().get("Cookie");
        let pairs = lines.flat_map(|line| line.split(';'));
        let mut values = pairs.filter_map(|pair| pair.trim_matches(' ').strip_prefix("sid="));
        let only = match (values.next(), values.next()) {
            (Some(value), None) => value,
            _ => "",
        };
        Outcome::Success(Self(only.to_owned()))
    }
}

#[get("/")]
fn home(cookie: SessionCookie, consumer: &State<Arc<Consumer>>) -> Page {
    let SessionCookie(cookie) = cookie;
    match consumer.sessions.lock().unwrap().get(&cookie) {
        Some(Session::SignedIn(who)) => show(&format!("Signed in as {who}.")),
        _ => show("You are signed out."),
    }
}

/// Starts a login with a fresh key, kept here, and sends the browser to the broker with
/// a fresh cookie.
#[post("/login")]
async fn login(cookies: &CookieJar<'_>, consumer: &State<Arc<Consumer>>) -> Result<Redirect, Page> {
    let key = secret();
    let fields = json!({ "session_key": key, "provider": "google" });
    let Ok(started) = consumer.call_broker("/v1/login/session", fields).await else {
        return Err(show("The sign-in is unavailable."));
    };
    consumer.keep(&new_cookie(cookies), Session::UnderWay(key));
    let url = started["authorization_url"].as_str().unwrap();
    Ok(Redirect::to(url.to_owned()))
}

/// The value of a fresh cookie, at the start of a login and at its end: an attacker may know, or
/// have planted, an earlier one.
fn new_cookie(cookies: &CookieJar<'_>) -> String {
    let value = secret();
    // Lax: a Strict cookie is not sent on the way back from the provider.
    let cookie = Cookie::build(("sid", value.clone())).same_site(SameSite::Lax);
    cookies.add(cookie.http_only(true));
    value
}

/// Answers HEAD without the handler of GET, which would read the result for a link
/// checker.
#[head("/callback")]
fn callback_head() {}

#[get("/callback")]
async fn callback(
    cookie: SessionCookie,
    cookies: &CookieJar<'_>,
    consumer: &State<Arc<Consumer>>,
) -> Result<Redirect, Page> {
    let SessionCookie(cookie) = cookie;
    let Some(key) = consumer.take_key(&cookie) else {
        return Err(show("Nothing is under way."));
    };
    let fields = json!({ "session_key": key });
    let result = match consumer.call_broker("/v1/login/result", fields).await {
        Ok(result) => result,
        Err(CallError::Refused) => return Err(show("That took too long.")),
        // The result may have been consumed: a second read cannot help.
        Err(CallError::Lost) => return Err(show("The answer was lost.")),
    };
    match result["status"].as_str() {
        Some("succeeded") => {
            // A name may be null. Accounts are keyed by `subject`, which never is.
            let profile = &result["profile"];
            let who = match profile["name"].as_str() {
                Some(name) => name.to_owned(),
                None => format!("account {}", profile["subject"].as_str().unwrap()),
            };
            consumer.keep(&new_cookie(cookies), Session::SignedIn(who));
            Ok(Redirect::to("/"))
        }
        Some("failed") => {
            let error = result["error"].as_str().unwrap();
            Err(show(&format!("It failed: {error}.")))
        }
        _ => {
            // Nothing was consumed.
            consumer.keep(&cookie, Session::UnderWay(key));
            Err(show("The sign-in is not finished."))
        }
    }
}

impl Consumer {
    pub(crate) fn configure(&self, settings: Settings) {
        assert!(self.settings.set(settings).is_ok(), "it is configured once");
    }

    fn keep(&self, cookie: &str, session: Session) {
        let mut sessions = self.sessions.lock().unwrap();
        sessions.insert(cookie.to_owned(), session);
    }

    /// Takes the key of the login under way, so that its result is read once.
    fn take_key(&self, cookie: &str) -> Option<String> {
        let mut sessions = self.sessions.lock().unwrap();
        match sessions.remove(cookie)? {
            Session::UnderWay(key) => Some(key),
            signed_in => {
                sessions.insert(cookie.to_owned(), signed_in);
                None
            }
        }
    }

    /// Calls the broker, and never repeats the call.
    async fn call_broker(&self, path: &str, mut fields: Value) -> Result<Value, CallError> {
        let settings = self.settings.get().expect("it is configured");
        fields["client_id"] = settings.client_id.as_str().into();
        fields["client_secret"] = settings.client_secret.as_str().into();
        fields["redirect_uri"] = settings.callback.as_str().into();
        let url = format!("{}{path}", settings.broker);
        let answer = self.http.post(url).json(&fields).send().await;
        let answer = answer.map_err(|_| CallError::Lost)?;
        match answer.status().as_u16() {
            200 => answer.json().await.map_err(|_| CallError::Lost),
            // Only an ApiError is the broker's refusal; a proxy in between answers, too.
            400..=499 => match answer.json::<Value>().await {
                Ok(body) if body["error"].is_string() => Err(CallError::Refused),
                _ => Err(CallError::Lost),
            },
            _ => Err(CallError::Lost),
        }
    }
}

/// Starts the consumer on a free port, and returns its address.
pub(crate) async fn start() -> (Arc<Consumer>, String) {
    let (sender, mut receiver) = watch::channel(0);
    let listens = AdHoc::on_liftoff("Port", move |rocket| {
        sender.send_replace(rocket.config().port);
        Box::pin(async {})
    });
    // For reqwest without a library of cryptography, as this workspace compiles it. With its
    // feature `rustls` it has one: leave this out.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder()
        // reqwest repeats some failed calls by itself. A one-time call must not be repeated.
        .retry(reqwest::retry::never())
        // A redirect would carry the secrets in the body to wherever it points.
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(10));
    let consumer = Arc::new(Consumer {
        settings: OnceLock::new(),
        http: http.build().unwrap(),
        sessions: Mutex::default(),
    });
    let config = Config {
        port: 0,
        log_level: LogLevel::Off,
        ..Config::debug_default()
    };
    let rocket = rocket::custom(config)
        .attach(listens)
        .manage(consumer.clone())
        .mount("/", routes![home, login, callback, callback_head]);
    tokio::spawn(rocket.launch());
    let port = *receiver.wait_for(|port| *port != 0).await.unwrap();
    (consumer, format!("http://localhost:{port}"))
}

/// 32 random bytes as base64url, without padding.
#[expect(
    clippy::disallowed_methods,
    reason = "a consumer draws its own secrets"
)]
fn secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

fn show(text: &str) -> Page {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let button = r#"<form method="post" action="/login"><button>Sign in</button></form>"#;
    RawHtml(format!("<!doctype html><p>{text}</p>{button}"))
}

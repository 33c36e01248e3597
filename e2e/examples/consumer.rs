//! The consumer: one page, one button, one session cookie. Yours takes its place.
//! (It is the smallest that passes; the one to learn from is `consumer-demo`.)

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
    /// By cookie.
    sessions: Mutex<HashMap<String, Session>>,
}

/// Known before the first request.
pub(crate) struct Settings {
    pub(crate) callback: String,
    pub(crate) broker: String,
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

enum Session {
    /// A login is under way, under this key.
    UnderWay(String),
    SignedIn(String),
}

/// Why a call brought nothing.
enum Failure {
    Refused,
    Lost,
}

type Page = RawHtml<String>;

/// The cookie that the browser sent, by its exact name; of two with one name, one was
/// planted. (Rocket's jar would decode names: see `cookies.rs` of `consumer-demo`.)
struct Sid(String);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Sid {
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
fn home(cookie: Sid, consumer: &State<Arc<Consumer>>) -> Page {
    let Sid(cookie) = cookie;
    match consumer.sessions.lock().unwrap().get(&cookie) {
        Some(Session::SignedIn(who)) => show(&format!("Signed in as {who}.")),
        _ => show("Nobody is signed in."),
    }
}

/// The button: a fresh key, kept here; the browser gets an address, and a fresh cookie.
#[post("/login")]
async fn login(cookies: &CookieJar<'_>, consumer: &State<Arc<Consumer>>) -> Result<Redirect, Page> {
    let (key, cookie) = (secret(), secret());
    let fields = json!({ "session_key": key, "provider": "google" });
    let Ok(started) = consumer.ask("/v1/login/session", fields).await else {
        return Err(show("Nobody can sign in now."));
    };
    consumer.keep(&cookie, Session::UnderWay(key));
    // Lax, or it is not sent on the way back from the provider.
    let cookie = Cookie::build(("sid", cookie)).same_site(SameSite::Lax);
    cookies.add(cookie.http_only(true));
    let url = started["authorization_url"].as_str().unwrap();
    Ok(Redirect::to(url.to_owned()))
}

/// Rocket would answer a link checker's HEAD by what follows, and read the result.
#[head("/callback")]
fn look() {}

#[get("/callback")]
async fn callback(cookie: Sid, consumer: &State<Arc<Consumer>>) -> Result<Redirect, Page> {
    let Sid(cookie) = cookie;
    let Some(key) = consumer.take_key(&cookie) else {
        return Err(show("Nothing is under way."));
    };
    let fields = json!({ "session_key": key });
    let result = match consumer.ask("/v1/login/result", fields).await {
        Ok(result) => result,
        Err(Failure::Refused) => return Err(show("That took too long.")),
        // The result may be consumed or not: asking again cannot help.
        Err(Failure::Lost) => return Err(show("The answer was lost.")),
    };
    match result["status"].as_str() {
        Some("succeeded") => {
            // A name may be null. Accounts are kept by `subject`, which never is.
            let profile = &result["profile"];
            let who = match profile["name"].as_str() {
                Some(name) => name.to_owned(),
                None => format!("account {}", profile["subject"].as_str().unwrap()),
            };
            consumer.keep(&cookie, Session::SignedIn(who));
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
    pub(crate) fn set_up(&self, settings: Settings) {
        assert!(self.settings.set(settings).is_ok(), "they are set once");
    }

    fn keep(&self, cookie: &str, session: Session) {
        let mut sessions = self.sessions.lock().unwrap();
        sessions.insert(cookie.to_owned(), session);
    }

    /// Takes the key of the login under way, so that nobody asks twice.
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

    /// One call. Never a second one.
    async fn ask(&self, path: &str, mut fields: Value) -> Result<Value, Failure> {
        let settings = self.settings.get().expect("it was set up");
        fields["client_id"] = settings.client_id.as_str().into();
        fields["client_secret"] = settings.client_secret.as_str().into();
        fields["redirect_uri"] = settings.callback.as_str().into();
        let url = format!("{}{path}", settings.broker);
        let answer = self.http.post(url).json(&fields).send().await;
        let answer = answer.map_err(|_| Failure::Lost)?;
        match answer.status().as_u16() {
            200 => answer.json().await.map_err(|_| Failure::Lost),
            // Only an ApiError is the broker's no; what stands in between answers, too.
            400..=499 => match answer.json::<Value>().await {
                Ok(body) if body["error"].is_string() => Err(Failure::Refused),
                _ => Err(Failure::Lost),
            },
            _ => Err(Failure::Lost),
        }
    }
}

/// Starts it on a free port; its address.
pub(crate) async fn start() -> (Arc<Consumer>, String) {
    let (tell, mut told) = watch::channel(0);
    let listens = AdHoc::on_liftoff("it listens", move |rocket| {
        tell.send_replace(rocket.config().port);
        Box::pin(async {})
    });
    let http = reqwest::Client::builder()
        // reqwest has ideas of its own about calls that may be tried again.
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
        .mount("/", routes![home, login, callback, look]);
    tokio::spawn(rocket.launch());
    let port = *told.wait_for(|port| *port != 0).await.unwrap();
    (consumer, format!("http://localhost:{port}"))
}

/// 32 random bytes as base64url, without padding.
#[expect(
    clippy::disallowed_methods,
    reason = "a consumer has chance of its own"
)]
fn secret() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

fn show(text: &str) -> Page {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let button = r#"<form method="post" action="/login"><button>Sign in</button></form>"#;
    RawHtml(format!("<!doctype html><p>{text}</p>{button}"))
}

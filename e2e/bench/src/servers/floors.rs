//! The floors. `floor-hops` makes the calls of a login with nothing kept and nothing
//! checked, on the broker's own libraries. Four requests come in; three go out to GitHub,
//! or one to Google, whose signature is verified. No broker on these libraries can cost
//! less. And a Rocket server with one page, which no start of a server on Rocket can beat.

#![expect(
    clippy::needless_pass_by_value,
    reason = "Rocket passes a body by value"
)]

use agent::random::secret;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use rocket::config::LogLevel;
use rocket::http::Header;
use rocket::serde::json::Json;
use rocket::{Build, Config, Responder, Rocket, State, get, post, routes};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::BenchError;

/// Serves one page until it is killed.
pub(crate) async fn serve_page(port: u16) -> Result<(), BenchError> {
    #[get("/")]
    fn index() -> &'static str {
        "ok"
    }
    launch(rocket::custom(config(port)).mount("/", routes![index])).await
}

/// Serves `floor-hops` until it is killed. The providers listen at `providers`.
pub(crate) async fn serve_hops(port: u16, providers: String) -> Result<(), BenchError> {
    let routes = routes![start, visit, authorize, callback, result, token, profile];
    let floor = FloorHops::new(format!("http://{providers}"))?;
    launch(
        rocket::custom(config(port))
            .manage(floor)
            .mount("/", routes),
    )
    .await
}

fn config(port: u16) -> Config {
    Config {
        port,
        log_level: LogLevel::Off,
        ..Config::release_default()
    }
}

async fn launch(rocket: Rocket<Build>) -> Result<(), BenchError> {
    let launched = rocket.launch().await;
    launched
        .map(drop)
        .map_err(|error| BenchError::because(error.to_string()))
}

struct FloorHops {
    http: reqwest::Client,
    providers: String,
    /// Google's key, read when it is first needed.
    key: OnceCell<DecodingKey>,
    validation: Validation,
}

impl FloorHops {
    fn new(providers: String) -> Result<Self, BenchError> {
        crypto::install();
        let http = reqwest::Client::builder().no_proxy().build();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_aud = false;
        Ok(Self {
            http: http.map_err(|error| BenchError::because(error.to_string()))?,
            providers,
            key: OnceCell::new(),
            validation,
        })
    }

    async fn read_key(&self) -> reqwest::Result<DecodingKey> {
        let url = format!("{}/jwks", self.providers);
        let keys: JwkSet = self.http.get(url).send().await?.json().await?;
        Ok(DecodingKey::from_jwk(&keys.keys[0]).expect("an RSA key"))
    }

    async fn github(&self, code: &str) -> reqwest::Result<Profile> {
        let tokens = self.exchange("/login/oauth/access_token", code).await?;
        let get = |path: &str| {
            let request = self.http.get(format!("{}{path}", self.providers));
            request.bearer_auth(&tokens.access_token).send()
        };
        let (user, emails) = tokio::join!(get("/user"), get("/user/emails"));
        let user: User = user?.json().await?;
        let emails: Vec<Email> = emails?.json().await?;
        Ok(Profile {
            subject: user.id.to_string(),
            name: Some(user.name),
            email: emails.into_iter().next().map(|it| it.email),
        })
    }

    async fn google(&self, code: &str) -> reqwest::Result<Profile> {
        let tokens = self.exchange("/token", code).await?;
        let key = self.key.get_or_try_init(|| self.read_key()).await?;
        let claims = decode::<Profile>(&tokens.id_token, key, &self.validation);
        Ok(claims.expect("the provider signs").claims)
    }

    /// Exchanges a code for tokens at `path`.
    async fn exchange(&self, path: &str, code: &str) -> reqwest::Result<Tokens> {
        let form = [
            ("client_id", "bench"),
            ("client_secret", "bench"),
            ("code", code),
        ];
        let request = self.http.post(format!("{}{path}", self.providers));
        let request = request.header("Accept", "application/json").form(&form);
        request.send().await?.json().await
    }
}

#[derive(Deserialize)]
struct Tokens {
    access_token: String,
    /// Google's alone.
    #[serde(default)]
    id_token: String,
}

#[derive(Deserialize)]
struct User {
    id: u64,
    name: String,
}

#[derive(Deserialize)]
struct Email {
    email: String,
}

/// The profile of the answers; as it is read, the claims of an ID token.
#[derive(Serialize, Deserialize)]
struct Profile {
    #[serde(rename(deserialize = "sub"))]
    subject: String,
    name: Option<String>,
    email: Option<String>,
}

#[derive(Responder)]
#[response(status = 303)]
struct SeeOther((), Header<'static>);

impl SeeOther {
    fn to(url: String) -> Self {
        Self((), Header::new("Location", url))
    }
}

#[post("/v1/login/session", data = "<request>")]
fn start(request: Json<Value>) -> Json<Value> {
    let provider = request["provider"].as_str().unwrap_or_default();
    let url = format!("http://127.0.0.1/login/{provider}.{}", secret());
    Json(json!({ "authorization_url": url }))
}

#[get("/login/<handle>")]
fn visit(handle: &str, floor: &State<FloorHops>) -> SeeOther {
    to_provider(floor, handle.split('.').next().unwrap_or_default(), "clean")
}

#[get("/authorize?<provider>")]
fn authorize(provider: &str, floor: &State<FloorHops>) -> SeeOther {
    to_provider(floor, provider, "legacy")
}

fn to_provider(floor: &FloorHops, provider: &str, flow: &str) -> SeeOther {
    let (state, nonce, providers) = (secret(), secret(), &floor.providers);
    SeeOther::to(format!(
        "{providers}/authorize?client_id=bench&provider={provider}&state={flow}.{state}&nonce={nonce}"
    ))
}

#[get("/callback/<provider>?<code>&<state>")]
async fn callback(provider: &str, code: &str, state: &str, floor: &State<FloorHops>) -> SeeOther {
    let profile = match provider {
        "google" => floor.google(code).await,
        _ => floor.github(code).await,
    };
    let profile = profile.expect("the provider answers");
    let subject = profile.subject.len();
    match state.starts_with("clean") {
        true => SeeOther::to(format!("http://127.0.0.1:9/home?{subject}")),
        false => SeeOther::to(format!("http://127.0.0.1:9/home?code={}", secret())),
    }
}

#[post("/v1/login/result", data = "<request>")]
fn result(request: Json<Value>) -> Json<Value> {
    let status = request["session_key"].as_str().map(|_| "succeeded");
    Json(json!({ "status": status, "profile": ada() }))
}

#[post("/v1/token", data = "<request>")]
fn token(request: Json<Value>) -> Json<Value> {
    let token = request["code"].as_str().map(|_| secret());
    Json(json!({ "access_token": token }))
}

#[get("/v1/profile")]
fn profile() -> Json<Profile> {
    Json(ada())
}

fn ada() -> Profile {
    Profile {
        subject: "110169484474386276334".to_owned(),
        name: Some("Ada Lovelace".to_owned()),
        email: Some("ada@example.com".to_owned()),
    }
}

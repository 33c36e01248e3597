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
use rocket::response::content::RawJson;
use rocket::serde::json::Json;
use rocket::{Config, Responder, State, get, post, routes};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::BenchError;

/// Serves `floor-hops` until it is killed, whose providers listen there; or one page, if there
/// are none.
pub(crate) async fn serve(port: u16, providers: Option<String>) -> Result<(), BenchError> {
    #[get("/")]
    fn index() -> &'static str {
        "ok"
    }
    let rocket = rocket::custom(Config {
        port,
        log_level: LogLevel::Off,
        ..Config::release_default()
    });
    let hops = routes![start, visit, authorize, callback, result, token, profile];
    let rocket = match providers {
        None => rocket.mount("/", routes![index]),
        Some(it) => rocket
            .manage(FloorHops::new(format!("http://{it}"))?)
            .mount("/", hops),
    };
    rocket.launch().await?;
    Ok(())
}

struct FloorHops {
    http: reqwest::Client,
    providers: String,
    /// Google's key, read when it is first needed.
    key: OnceCell<DecodingKey>,
    validation: Validation,
}

impl FloorHops {
    fn new(providers: String) -> reqwest::Result<Self> {
        crypto::install();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_aud = false;
        Ok(Self {
            http: reqwest::Client::builder().no_proxy().build()?,
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

    async fn github(&self, code: &str) -> reqwest::Result<Answer> {
        let tokens = self.exchange("/login/oauth/access_token", code).await?;
        let get = |path: &str| {
            let request = self.http.get(format!("{}{path}", self.providers));
            request.bearer_auth(&tokens.access_token).send()
        };
        let (user, emails) = tokio::join!(get("/user"), get("/user/emails"));
        let mut emails: Vec<Answer> = emails?.json().await?;
        let user: Answer = user?.json().await?;
        Ok(Answer {
            email: emails.remove(0).email,
            sub: user.id.to_string(),
            ..user
        })
    }

    async fn google(&self, code: &str) -> reqwest::Result<Answer> {
        let tokens = self.exchange("/token", code).await?;
        let key = self.key.get_or_try_init(|| self.read_key()).await?;
        let claims = decode::<Answer>(&tokens.id_token, key, &self.validation);
        Ok(claims.expect("the provider signs").claims)
    }

    /// Exchanges a code for tokens at `path`.
    async fn exchange(&self, path: &str, code: &str) -> reqwest::Result<Answer> {
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

/// The members of a provider's answers that a login needs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    access_token: String,
    id_token: String,
    id: u64,
    sub: String,
    name: String,
    email: Option<String>,
}

#[derive(Responder)]
#[response(status = 303)]
struct SeeOther((), Header<'static>);

fn see_other(url: String) -> SeeOther {
    SeeOther((), Header::new("Location", url))
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
    see_other(format!(
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
    let size = profile.sub.len() + profile.name.len() + profile.email.map_or(0, |it| it.len());
    match state.starts_with("clean") {
        true => see_other(format!("http://127.0.0.1:9/home?{size}")),
        false => see_other(format!("http://127.0.0.1:9/home?code={}", secret())),
    }
}

/// The profile that each login ends with.
const ADA: &str =
    r#"{"subject":"110169484474386276334","name":"Ada Lovelace","email":"ada@example.com"}"#;

#[post("/v1/login/result", data = "<request>")]
fn result(request: Json<Value>) -> RawJson<String> {
    let status = request["session_key"]
        .as_str()
        .map_or("failed", |_| "succeeded");
    RawJson(format!(r#"{{"status":"{status}","profile":{ADA}}}"#))
}

#[post("/v1/token", data = "<request>")]
fn token(request: Json<Value>) -> Json<Value> {
    let token = request["code"].as_str().map(|_| secret());
    Json(json!({ "access_token": token }))
}

#[get("/v1/profile")]
fn profile() -> RawJson<&'static str> {
    RawJson(ADA)
}

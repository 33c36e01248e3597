//! A provider that answers at once: GitHub's three calls and Google's one, whose ID
//! token is really signed. It checks nothing.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};

use agent::time::unix_ms;
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::BenchError;

/// The client ID of the broker at both providers.
const CLIENT_ID: &str = "bench";

const KEY: &[u8] = include_bytes!("../../../../mock-upstream/keys/first.pem");
const KEY_ID: &str = "bench-key";

struct Providers {
    url: String,
    key: EncodingKey,
}

/// Serves both providers on a free port, as tasks of the load's runtime: a process of their
/// own would compete with the load for its core.
pub(crate) async fn start() -> Result<SocketAddr, BenchError> {
    crypto::install();
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let address = listener.local_addr()?;
    let providers = Arc::new(Providers {
        url: format!("http://{address}"),
        key: EncodingKey::from_rsa_der(&crypto::pkcs8(KEY)),
    });
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, providers.clone()));
        }
    });
    Ok(address)
}

async fn connection(stream: TcpStream, providers: Arc<Providers>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(request, &providers));
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    providers: &Providers,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(Collected::to_bytes);
    let body = body.unwrap_or_default();
    let answer = match head.uri.path() {
        path @ ("/login/oauth/access_token" | "/user" | "/user/emails") => github()[path].clone(),
        "/token" => providers.tokens(&code_of(&body)),
        "/jwks" => providers.keys(),
        _ => providers.metadata(),
    };
    Ok(Response::builder()
        .header("Content-Type", "application/json; charset=utf-8")
        .header("Cache-Control", "max-age=86400")
        .body(Full::from(answer.to_string()))
        .expect("these headers are valid"))
}

/// GitHub's answers.
fn github() -> &'static Value {
    static ANSWERS: LazyLock<Value> = LazyLock::new(|| {
        serde_json::from_str(include_str!("github.json")).expect("the committed file is JSON")
    });
    &ANSWERS
}

/// The code of a token request; the load makes it the nonce of the ID token.
fn code_of(body: &[u8]) -> String {
    let mut fields = url::form_urlencoded::parse(body);
    let code = fields.find(|(name, _)| name == "code");
    code.map(|(_, code)| code.into_owned()).unwrap_or_default()
}

impl Providers {
    fn metadata(&self) -> Value {
        let url = &self.url;
        json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "jwks_uri": format!("{url}/jwks"),
        })
    }

    fn keys(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, Algorithm::RS256).expect("an RSA key");
        let mut jwk = serde_json::to_value(jwk).expect("a key is plain data");
        jwk["kid"] = KEY_ID.into();
        jwk["use"] = "sig".into();
        jwk["alg"] = "RS256".into();
        json!({ "keys": [jwk] })
    }

    fn tokens(&self, nonce: &str) -> Value {
        let now = unix_ms() / 1_000;
        let claims = json!({
            "iss": self.url, "aud": CLIENT_ID, "azp": CLIENT_ID, "nonce": nonce,
            "sub": "110169484474386276334", "iat": now, "exp": now + 3600,
            "name": "Ada Lovelace", "email": "ada@example.com", "email_verified": true,
            "picture": "https://lh3.googleusercontent.com/a/ada",
        });
        let header = Header {
            kid: Some(KEY_ID.to_owned()),
            ..Header::new(Algorithm::RS256)
        };
        let token = encode(&header, &claims, &self.key).expect("the key signs");
        json!({
            "access_token": "ya29.bench", "token_type": "Bearer", "expires_in": 3599,
            "scope": "openid email profile", "id_token": token,
        })
    }
}

//! A provider that answers at once: GitHub's three calls and Google's one, whose ID
//! token is really signed. It checks nothing.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use agent::time::unix_ms;
use http_body_util::{BodyExt as _, Collected, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

use crate::BenchError;

/// Its public half is in `providers.json`.
const KEY: &[u8] = include_bytes!("../../../../mock-upstream/keys/first.pem");
const KEY_ID: &str = "bench-key";

struct Providers {
    /// The constant answers, by their paths or names.
    answers: Value,
    key: EncodingKey,
}

/// Serves both providers on a free port, as tasks of the load's runtime: a process of their
/// own would compete with the load for its core.
pub(crate) async fn start() -> Result<SocketAddr, BenchError> {
    crypto::install();
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let address = listener.local_addr()?;
    let answers = include_str!("providers.json").replace("<URL>", &format!("http://{address}"));
    let providers = Arc::new(Providers {
        answers: serde_json::from_str(&answers)?,
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
    let answers = &providers.answers;
    let answer = match head.uri.path() {
        "/token" => providers.tokens(&code_of(&body)),
        path => answers.get(path).unwrap_or(&answers["metadata"]).clone(),
    };
    Ok(Response::builder()
        .header("Content-Type", "application/json; charset=utf-8")
        .header("Cache-Control", "max-age=86400")
        .body(Full::from(answer.to_string()))
        .expect("these headers are valid"))
}

/// The code of a token request; the load makes it the nonce of the ID token.
fn code_of(body: &[u8]) -> String {
    let mut fields = url::form_urlencoded::parse(body);
    let code = fields.find(|(name, _)| name == "code");
    code.map(|(_, code)| code.into_owned()).unwrap_or_default()
}

impl Providers {
    fn tokens(&self, nonce: &str) -> Value {
        let now = unix_ms() / 1_000;
        let mut claims = self.answers["claims"].clone();
        claims["nonce"] = nonce.into();
        claims["iat"] = now.into();
        claims["exp"] = (now + 3600).into();
        let header = Header {
            kid: Some(KEY_ID.to_owned()),
            ..Header::new(Algorithm::RS256)
        };
        let token = encode(&header, &claims, &self.key).expect("the key signs");
        let mut tokens = self.answers["tokens"].clone();
        tokens["id_token"] = token.into();
        tokens
    }
}

//! Requests that no honest client sends. None of them gets anything, and none may
//! bring a broker down.

use std::time::Duration;

use agent::time::pause;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::context::Context;
use crate::client::CONSUMER;
use crate::random::Random;

/// The requests, by name.
const KINDS: [(&str, Kind); 16] = [
    ("wrong secret", Kind::WrongSecret),
    ("unknown client", Kind::UnknownClient),
    ("unknown key", Kind::UnknownKey),
    ("unknown code", Kind::UnknownCode),
    ("unknown token", Kind::UnknownToken),
    ("unknown handle", Kind::UnknownHandle),
    ("foreign callback", Kind::ForeignCallback),
    ("callback without an upstream login", Kind::StrayCallback),
    ("secret in the address", Kind::SecretInAddress),
    ("garbage", Kind::Garbage),
    ("deep garbage", Kind::Deep),
    ("oversized", Kind::Oversized),
    ("another media type", Kind::OtherMediaType),
    ("another method", Kind::OtherMethod),
    ("broken-off body", Kind::BrokenOff),
    ("slow body", Kind::Slow),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    WrongSecret,
    UnknownClient,
    UnknownKey,
    UnknownCode,
    UnknownToken,
    UnknownHandle,
    ForeignCallback,
    StrayCallback,
    SecretInAddress,
    Garbage,
    Deep,
    Oversized,
    OtherMediaType,
    OtherMethod,
    BrokenOff,
    Slow,
}

/// The time between two bytes of a slow client, and their number: it goes on past the
/// time that a body may take.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSES: usize = 24;

/// Sends one of them.
pub(super) async fn send_one(context: &Context, random: &mut Random) {
    let (name, kind) = *random.pick(&KINDS);
    // The slow ones are slow: nine in ten break off instead.
    let is_patient = kind == Kind::Slow && random.one_in(10);
    context.statistics().add_hostile(name);
    match kind {
        Kind::BrokenOff | Kind::Slow => {
            // The connection may end in any way, as long as it ends.
            let _ = drip(context, random, if is_patient { PAUSES } else { 0 }).await;
        }
        _ => send(context, name, request(context, kind, random)).await,
    }
}

async fn send(context: &Context, name: &str, request: RequestBuilder) {
    let Ok(answer) = context.recorder.client.execute(request).await else {
        return;
    };
    if answer.request_id().is_none() {
        return;
    }
    context.check_contract(Some(&answer));
    if !(400..500).contains(&answer.status) && answer.status != 503 {
        let what = format!("hostile request ({name}) answered {}", answer.status);
        context.report(&what, None);
    }
    context.statistics().add_hostile_answer(answer.status);
}

fn request(context: &Context, kind: Kind, random: &mut Random) -> RequestBuilder {
    let endpoint = context.endpoint(random);
    let at = |method: Method, path: &str| {
        let url = format!("{}{path}", endpoint.url);
        context.recorder.client.other(method, &url)
    };
    let (get, post) = (Method::GET, Method::POST);
    let unknown = random.secret();
    match kind {
        Kind::WrongSecret => {
            let mut body = body(random);
            body["client_secret"] = "not the secret".into();
            at(post, "/v1/login/session").json(&body)
        }
        Kind::UnknownClient => {
            let mut body = body(random);
            body["client_id"] = "unknown".into();
            at(post, "/v1/login/session").json(&body)
        }
        Kind::UnknownKey => {
            let body = CONSUMER.result(&unknown).body;
            at(post, "/v1/login/result").json(&body)
        }
        Kind::UnknownCode => {
            let body = CONSUMER.redeem(&unknown, &random.secret()).body;
            at(post, "/v1/token").json(&body)
        }
        Kind::UnknownToken => at(get, "/v1/profile").bearer_auth(format!("fsi_{unknown}")),
        Kind::UnknownHandle => at(get, &format!("/login/{unknown}")),
        Kind::ForeignCallback => {
            let mut body = body(random);
            body["redirect_uri"] = "https://elsewhere.example/home".into();
            at(post, "/v1/login/session").json(&body)
        }
        Kind::StrayCallback => at(get, &format!("/callback/google?code=x&state={unknown}")),
        Kind::SecretInAddress => at(get, &format!("/v1/profile?session_key={unknown}")),
        Kind::Garbage => at(post, "/v1/token")
            .header(CONTENT_TYPE, "application/json")
            .body(format!("{{\"code\":\"\u{0}{unknown}")),
        Kind::Deep => at(post, "/v1/login/result")
            .header(CONTENT_TYPE, "application/json")
            .body("[".repeat(1 + random.below(30_000))),
        Kind::Oversized => at(post, "/v1/login/session")
            .header(CONTENT_TYPE, "application/json")
            .body(" ".repeat(33_000 + random.below(600_000))),
        Kind::OtherMediaType => at(post, "/v1/token")
            .header(CONTENT_TYPE, "text/plain")
            .body(body(random).to_string()),
        Kind::OtherMethod | Kind::BrokenOff | Kind::Slow => at(Method::PUT, "/v1/login/session"),
    }
}

/// A request that would be right, for a login that is new.
fn body(random: &mut Random) -> Value {
    let call = CONSUMER.start(&random.secret(), "google");
    call.body.expect("a call of a backend has a body")
}

/// Announces a body and sends a part of it; then `pauses` blanks, one after each pause,
/// and then nothing. It goes to the broker itself, for a proxy reads bodies.
async fn drip(context: &Context, random: &mut Random, pauses: usize) -> std::io::Result<()> {
    let address = context.address(random.below(context.endpoints.len()));
    let mut connection = TcpStream::connect(address).await?;
    let head = "POST /v1/login/session HTTP/1.1\r\nHost: 127.0.0.1\r\n\
                Content-Type: application/json\r\nContent-Length: 400\r\n\r\n{";
    let cut = if pauses > 0 { 0 } else { random.below(80) };
    let sent = head.len() - cut;
    connection.write_all(&head.as_bytes()[..sent]).await?;
    for _ in 0..pauses {
        pause(PAUSE).await;
        connection.write_all(b" ").await?;
    }
    if pauses > 0 {
        // By now it is answered, or closed.
        let _first_bytes = connection.read(&mut [0; 64]).await?;
    }
    connection.shutdown().await
}

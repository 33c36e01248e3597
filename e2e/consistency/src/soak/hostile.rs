//! Requests that no honest client sends. None of them gets anything, and none may
//! bring a broker down.

use std::ops::RangeInclusive;
use std::time::Duration;

use agent::malformed;
use agent::random::Random;
use agent::time::pause;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::context::Context;
use super::statistics::count;
use crate::client::{CONSUMER, Client};

/// The time between two bytes of a slow client, and their number: it goes on past the
/// time that a body may take.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSES: usize = 24;

/// Sends one of them.
pub(super) async fn send_one(context: &Context, random: &mut Random) {
    let to = To {
        client: &context.recorder.client,
        url: &context.endpoint(random).url,
    };
    match random.below(14) {
        0 => {
            let (request, status) = malformed_body(&to, random);
            send(context, "malformed body", request, status..=status).await;
        }
        1 => drip(context, random, "broken-off body", 0).await,
        2 => {
            // It is slow: nine in ten break off instead.
            let pauses = if random.one_in(10) { PAUSES } else { 0 };
            drip(context, random, "slow body", pauses).await;
        }
        _ => {
            let (name, request) = request(&to, random);
            send(context, name, request, 400..=499).await;
        }
    }
}

/// The broker that a request goes to.
struct To<'a> {
    client: &'a Client,
    url: &'a str,
}

impl To<'_> {
    fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.other(method, &format!("{}{path}", self.url))
    }
}

/// A request, with its name in the report.
fn request(to: &To<'_>, random: &mut Random) -> (&'static str, RequestBuilder) {
    let (get, post) = (Method::GET, Method::POST);
    let unknown = random.secret();
    let right = CONSUMER.start(&unknown, "google").body.unwrap_or_default();
    let wrong = |member: &str, text: &str| {
        let mut body = right.clone();
        body[member] = text.into();
        to.ask(Method::POST, "/v1/login/session").json(&body)
    };
    match random.below(11) {
        0 => ("wrong secret", wrong("client_secret", "not the secret")),
        1 => ("unknown client", wrong("client_id", "unknown")),
        2 => {
            let elsewhere = "https://elsewhere.example/home";
            ("foreign callback", wrong("redirect_uri", elsewhere))
        }
        3 => {
            let body = CONSUMER.result(&unknown).body;
            ("unknown key", to.ask(post, "/v1/login/result").json(&body))
        }
        4 => {
            let body = CONSUMER.redeem(&unknown, &random.secret()).body;
            ("unknown code", to.ask(post, "/v1/token").json(&body))
        }
        5 => {
            let asked = to.ask(get, "/v1/profile");
            ("unknown token", asked.bearer_auth(format!("fsi_{unknown}")))
        }
        6 => ("unknown handle", to.ask(get, &format!("/login/{unknown}"))),
        7 => {
            let path = format!("/callback/google?code=x&state={unknown}");
            ("callback without an upstream login", to.ask(get, &path))
        }
        8 => {
            let path = format!("/v1/profile?session_key={unknown}");
            ("secret in the address", to.ask(get, &path))
        }
        9 => {
            let blanks = " ".repeat(33_000 + random.below(600_000));
            let asked = to.ask(post, "/v1/login/session");
            let asked = asked.header(CONTENT_TYPE, "application/json");
            ("oversized", asked.body(blanks))
        }
        _ => ("another method", to.ask(Method::PUT, "/v1/login/session")),
    }
}

/// Sends a request that is refused with a status in `due`.
async fn send(
    context: &Context,
    name: &'static str,
    request: RequestBuilder,
    due: RangeInclusive<u16>,
) {
    count(&mut context.statistics.lock().hostile, name);
    let Ok(answer) = context.recorder.client.execute(request).await else {
        return;
    };
    if answer.request_id().is_none() {
        return;
    }
    context.check_contract(Some(&answer));
    if !due.contains(&answer.status) && answer.status != 503 {
        let what = format!("hostile request ({name}) answered {}", answer.status);
        context.report(&what, None);
    }
    let mut statistics = context.statistics.lock();
    count(&mut statistics.hostile_answered, answer.status);
}

/// A malformed body at an endpoint that reads one, and the status of its refusal.
fn malformed_body(to: &To<'_>, random: &mut Random) -> (RequestBuilder, u16) {
    let secret = random.secret();
    let calls = [
        CONSUMER.start(&secret, "google"),
        CONSUMER.result(&secret),
        CONSUMER.redeem(&secret, &secret),
    ];
    let good = random.pick(&calls);
    let rows = malformed::bodies(good.body.as_ref().expect("it has one"));
    let row = random.pick(&rows);
    let request = to.ask(Method::POST, good.path).body(row.body.clone());
    let with_header =
        |request: RequestBuilder, (name, value): &(&str, &str)| request.header(*name, *value);
    (row.headers.iter().fold(request, with_header), row.status)
}

/// Announces a body and sends a part of it; then `pauses` blanks, one after each pause,
/// and then nothing. It goes to the broker itself, for a proxy reads bodies.
async fn drip(context: &Context, random: &mut Random, name: &'static str, pauses: usize) {
    count(&mut context.statistics.lock().hostile, name);
    let address = context.address(random.below(context.endpoints.len()));
    let head = "POST /v1/login/session HTTP/1.1\r\nHost: 127.0.0.1\r\n\
                Content-Type: application/json\r\nContent-Length: 400\r\n\r\n{";
    let cut = if pauses > 0 { 0 } else { random.below(80) };
    let sent = async {
        let mut connection = TcpStream::connect(address).await?;
        let sent = &head.as_bytes()[..head.len() - cut];
        connection.write_all(sent).await?;
        for _ in 0..pauses {
            pause(PAUSE).await;
            connection.write_all(b" ").await?;
        }
        if pauses > 0 {
            // By now it is answered, or closed.
            let _first_bytes = connection.read(&mut [0; 64]).await?;
        }
        connection.shutdown().await
    };
    // The connection may end in any way, as long as it ends.
    let _: std::io::Result<()> = sent.await;
}

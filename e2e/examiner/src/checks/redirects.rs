//! Redirects of the broker's answers: no call follows one.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use super::faulted_login::{answer, calls_of, expect_met, login_before};
use super::log::client_secret;
use crate::browser::Arrival;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The statuses that lead elsewhere. The last two carry a POST's body on.
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// The part of a request that is kept.
const MAX_REQUEST_BYTES: usize = 16 * 1024;

/// `redirects-not-followed`: at each call of a login, by each status.
pub(super) async fn redirects_not_followed(trial: &Trial<'_>) -> Outcome {
    let elsewhere = Elsewhere::listen().await?;
    for operation in calls_of(trial.flow) {
        for status in STATUSES {
            let mut login = login_before(trial, operation).await?;
            let mark = trial.mark().await?;
            let location = json!({ "Location": elsewhere.url });
            let more = answer(status, &location, "");
            trial.arm_with(operation, "answer", &more).await?;
            let arrival = login.go_on(trial).await?;
            trial.testbed.control.disarm().await?;
            expect_met(trial, mark, operation).await?;
            let cause = format!("answered {operation} with a redirect ({status})");
            elsewhere.require_untouched(trial, &cause)?;
            let Arrival::Page(_) = arrival else {
                return Err(Stop::fail(format!("{cause}, the app sends the browser on")));
            };
            let is_in = trial
                .is_signed_in(&mut login.browser, &login.person)
                .await?;
            require(!is_in, || format!("{cause}, the app signs the user in"))?;
        }
    }
    Ok(())
}

/// A host that no app has anything to do with.
struct Elsewhere {
    url: String,
    received: Arc<Mutex<Vec<String>>>,
    server: JoinHandle<()>,
}

impl Elsewhere {
    async fn listen() -> Outcome<Self> {
        let no_port = |error| Stop::harness(format!("no port to listen on: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(no_port)?;
        let address = listener.local_addr().map_err(no_port)?;
        let received = Arc::default();
        let server = tokio::spawn(serve(listener, Arc::clone(&received)));
        Ok(Self {
            url: format!("http://{address}/elsewhere"),
            received,
            server,
        })
    }

    fn require_untouched(&self, trial: &Trial<'_>, cause: &str) -> Outcome {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(request) = received.first() else {
            return Ok(());
        };
        let carries = carried(request, client_secret(trial));
        Err(Stop::fail(format!(
            "{cause}, the app calls the other host{carries}"
        )))
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(listener: TcpListener, received: Arc<Mutex<Vec<String>>>) {
    // Dropped with the server. A connection that stays silent keeps no other waiting.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(refuse(stream, Arc::clone(&received)));
    }
}

async fn refuse(mut stream: TcpStream, received: Arc<Mutex<Vec<String>>>) {
    let request = read(&mut stream).await;
    received
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(request);
    let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// The request, as far as it has come with its head and its announced body.
async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while bytes.len() < MAX_REQUEST_BYTES && !is_whole(&bytes) {
        match stream.read(&mut chunk).await {
            Ok(length @ 1..) => bytes.extend_from_slice(&chunk[..length]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|it| it.trim().parse::<usize>().ok());
    match length {
        Some(length) => body.len() >= length,
        None => !head.contains("transfer-encoding") || body.ends_with("0\r\n\r\n"),
    }
}

/// The secrets in a request, in words.
fn carried(request: &str, client_secret: Option<&str>) -> String {
    let lower = request.to_ascii_lowercase();
    let has_secret = client_secret.is_some_and(|it| request.contains(it));
    let found = [
        (has_secret, "the client secret"),
        (request.contains("session_key"), "the session key"),
        (
            request.contains("code_verifier"),
            "the code and its verifier",
        ),
        (lower.contains("authorization: bearer"), "the access token"),
    ];
    let found: Vec<_> = found
        .into_iter()
        .filter_map(|(has, name)| has.then_some(name))
        .collect();
    match found.as_slice() {
        [] => String::new(),
        found => format!(", and sends it {}", found.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::within;

    #[tokio::test]
    async fn a_silent_connection_hides_no_followed_redirect() {
        let elsewhere = Elsewhere::listen().await.unwrap();
        let address = elsewhere
            .url
            .replace("http://", "")
            .replace("/elsewhere", "");
        let _silent = TcpStream::connect(&address).await.unwrap();
        let mut other = TcpStream::connect(&address).await.unwrap();
        other.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        let limit = std::time::Duration::from_secs(5);
        let read = within(limit, other.read_to_end(&mut answer)).await;
        assert!(read.is_some() && answer.starts_with(b"HTTP/1.1 404"));
        assert_eq!(elsewhere.received.lock().unwrap().len(), 1);
    }

    #[test]
    fn the_secrets_of_a_followed_call_are_named() {
        let request = "POST / HTTP/1.1\r\nContent-Length: 40\r\n\r\n{\"client_secret\":\"s3\",\"session_key\":\"k\"}";
        assert!(is_whole(request.as_bytes()));
        assert!(!is_whole(&request.as_bytes()[..request.len() - 1]));
        assert_eq!(
            carried(request, Some("s3")),
            ", and sends it the client secret and the session key"
        );
        assert_eq!(carried("GET / HTTP/1.1\r\n\r\n", Some("s3")), "");
    }
}

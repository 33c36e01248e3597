//! The reader's browser: it opens one address, and comes back to the callback, from where it
//! is led to the next sign-in.

use std::error::Error;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use agent::time::within;
use agent::url::is_loopback;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use url::Url;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::shape::parameters;

/// The time for a sign-in.
const WAIT: Duration = Duration::from_secs(180);

pub(super) struct Callback {
    /// The address to which the browser goes next; it waits for that at the callback.
    next: mpsc::Sender<Url>,
    arrivals: UnboundedReceiver<Url>,
    is_open: bool,
    _server: MockServer,
}

impl Callback {
    pub(super) async fn listen(url: &Url) -> Result<Self, Box<dyn Error>> {
        if url.scheme() != "http" || !is_loopback(url) {
            return Err("--callback must be http and on this machine, as by default".into());
        }
        let listener = TcpListener::bind(&url.socket_addrs(|| None)?[..])
            .map_err(|error| format!("--callback {url}: {error}; register another port there"))?;
        let server = MockServer::builder().listener(listener).start().await;
        let (next, waiting) = mpsc::channel::<Url>();
        let (arrived, arrivals) = unbounded_channel();
        let waiting = Mutex::new(waiting);
        // It blocks the server's own thread, which has nothing else to do.
        let lead_on = move |request: &Request| {
            let _ = arrived.send(request.url.clone());
            match waiting.lock().map(|it| it.recv()) {
                Ok(Ok(next)) => ResponseTemplate::new(302).insert_header("location", next.as_str()),
                _ => ResponseTemplate::new(200).set_body_string("Done; see the terminal."),
            }
        };
        Mock::given(method("GET"))
            .and(path(url.path()))
            .respond_with(lead_on)
            .mount(&server)
            .await;
        Ok(Self {
            next,
            arrivals,
            is_open: false,
            _server: server,
        })
    }

    /// The parameters with which the browser returns from the sign-in at `url`; null, if it does
    /// not in time.
    pub(super) async fn sign_in(&mut self, url: Url) -> Result<Value, Box<dyn Error>> {
        match self.is_open {
            true => self.next.send(url)?,
            false => writeln!(io::stderr(), "\nSign in, in your browser, at:\n\n{url}\n")?,
        }
        let arrived = within(WAIT, self.arrivals.recv()).await.flatten();
        self.is_open = arrived.is_some();
        Ok(arrived.as_ref().map(parameters).into())
    }
}

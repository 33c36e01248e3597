//! Sites of the attacker's: servers on this machine that the app has nothing to do with.

use std::io;
use std::net::TcpListener;

use agent::browser::Visit;
use askama::Template;
use url::Url;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::random;
use crate::verdict::{Outcome, Stop};

/// The name of the attacker's host: another site than the app, the broker and the providers.
/// Chromium resolves every `….localhost` itself.
const FOREIGN_HOST: &str = "evil.localhost";

/// A site with pages that lure a browser into requests; every other address is not found. It ends
/// when it is dropped.
pub(crate) struct ForeignSite {
    pub(crate) origin: Url,
    server: MockServer,
}

/// A page of the attacker's.
#[derive(Template)]
#[template(path = "lure.html")]
struct LurePage<'a>(&'a Lure<'a>);

/// What is on it; what a user presses has the id `go`.
pub(crate) enum Lure<'a> {
    /// A link.
    Link(&'a Url),
    /// A picture, which is loaded from there.
    Picture(&'a Url),
    /// A form that makes the request of the visit.
    Form(&'a Visit),
    /// A page whose answer sets these cookies, byte for byte.
    Cookies(&'a [String]),
}

impl ForeignSite {
    /// A site that is foreign to all others.
    pub(crate) async fn start() -> Outcome<Self> {
        Self::called(FOREIGN_HOST).await
    }

    /// A site under `host`, on a port of its own: a sister of what else runs there.
    pub(crate) async fn called(host: &str) -> Outcome<Self> {
        let failed = |error: io::Error| {
            Stop::harness(format!(
                "the other site that attacks cannot be started here: {error}"
            ))
        };
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        // None of those that wiremock lends again: a late request is for no other check.
        let server = MockServer::builder().listener(listener).start().await;
        let origin = Url::parse(&format!("http://{host}:{}/", server.address().port()));
        let origin = origin.map_err(|_| Stop::harness(format!("{host} is no host")))?;
        Ok(Self { origin, server })
    }

    /// The address of a new page.
    pub(crate) async fn page(&self, lure: Lure<'_>) -> Url {
        let html = LurePage(&lure).to_string();
        let page = ResponseTemplate::new(200).set_body_raw(html, "text/html; charset=utf-8");
        let cookies = match lure {
            Lure::Cookies(lines) => lines,
            _ => &[],
        };
        let page = cookies.iter().fold(page, |page, cookie| {
            page.append_header("set-cookie", cookie.as_bytes())
        });
        let mut url = self.origin.clone();
        url.set_path(&random::letters());
        let asked = Mock::given(path(url.path()));
        asked.respond_with(page).mount(&self.server).await;
        url
    }

    /// The requests so far.
    pub(crate) async fn received(&self) -> Vec<Request> {
        self.server.received_requests().await.unwrap_or_default()
    }
}

//! Sites of the attacker's: servers on this machine that the app has nothing to do with.

use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use agent::browser::Visit;
use askama::Template;
use url::Url;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::verdict::{Outcome, Stop};

/// The name of the attacker's host: another site than the app, the broker and the providers.
/// Chromium resolves every `….localhost` itself.
const FOREIGN_HOST: &str = "evil.localhost";

/// A server that answers each request by a function. It ends when it is dropped.
pub(crate) struct Site {
    pub(crate) origin: Url,
    server: MockServer,
}

impl Site {
    /// A site under `host`, on a port of its own: a sister of what else runs there.
    pub(crate) async fn start(host: &str, answer: impl Respond + 'static) -> Outcome<Self> {
        let failed = |error: io::Error| {
            Stop::harness(format!(
                "the other site that attacks cannot be started here: {error}"
            ))
        };
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        // None of those that wiremock lends again: a late request is for no other check.
        let server = MockServer::builder().listener(listener).start().await;
        Mock::given(any()).respond_with(answer).mount(&server).await;
        let origin = Url::parse(&format!("http://{host}:{}/", server.address().port()));
        let origin = origin.map_err(|_| Stop::harness(format!("{host} is no host")))?;
        Ok(Self { origin, server })
    }

    /// The requests so far.
    pub(crate) async fn received(&self) -> Vec<Request> {
        self.server.received_requests().await.unwrap_or_default()
    }
}

/// A page of the attacker's.
#[derive(Template)]
#[template(path = "lure.html")]
struct LurePage<'a> {
    lure: Lure<'a>,
}

/// What is on it.
enum Lure<'a> {
    Link(&'a Url),
    Picture(&'a Url),
    Form(&'a Visit),
    Words,
}

/// A site with pages that lure a browser into requests.
pub(crate) struct ForeignSite {
    site: Site,
    /// The answers, by their paths.
    pages: Arc<Mutex<HashMap<String, ResponseTemplate>>>,
}

impl ForeignSite {
    /// A site that is foreign to all others.
    pub(crate) async fn start() -> Outcome<Self> {
        Self::called(FOREIGN_HOST).await
    }

    /// A site under `host`, on a port of its own.
    pub(crate) async fn called(host: &str) -> Outcome<Self> {
        let pages: Arc<Mutex<HashMap<String, ResponseTemplate>>> = Arc::default();
        let shown = pages.clone();
        let answer = move |request: &Request| {
            let pages = shown.lock().unwrap_or_else(PoisonError::into_inner);
            let page = pages.get(request.url.path()).cloned();
            page.unwrap_or_else(|| ResponseTemplate::new(404))
        };
        let site = Site::start(host, answer).await?;
        Ok(Self { site, pages })
    }

    /// A page with a link, whose id is `go`.
    pub(crate) fn with_link(&self, target: &Url) -> Url {
        self.put("/link", Lure::Link(target), &[])
    }

    /// A page with a form that makes the request of `visit`; its button has the id `go`.
    pub(crate) fn with_form(&self, visit: &Visit) -> Url {
        self.put("/form", Lure::Form(visit), &[])
    }

    /// A page that loads `target` as a picture.
    pub(crate) fn with_picture(&self, target: &Url) -> Url {
        self.put("/picture", Lure::Picture(target), &[])
    }

    /// A page whose answer sets these cookies, byte for byte.
    pub(crate) fn with_cookies(&self, lines: &[String]) -> Url {
        self.put("/cookies", Lure::Words, lines)
    }

    fn put(&self, path: &str, lure: Lure<'_>, cookies: &[String]) -> Url {
        let html = LurePage { lure }.to_string();
        let page = ResponseTemplate::new(200).set_body_raw(html, "text/html; charset=utf-8");
        let page = cookies.iter().fold(page, |page, cookie| {
            page.append_header("set-cookie", cookie.as_bytes())
        });
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.insert(path.to_owned(), page);
        let origin = &self.site.origin;
        origin.join(path).unwrap_or_else(|_| origin.clone())
    }
}

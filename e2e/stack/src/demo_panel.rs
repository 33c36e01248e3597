//! The panel *What just happened* on the demo's pages: the login of this browser in plain
//! words, each line with its place in the demo's source and a link to its arrow.
//!
//! The stack adds it to the demo's answers, so that the demo's own code stays free of it. A
//! cookie of the stack's keeps the ids of the logins that the browser has started; an id
//! is no secret.

mod panel;
mod story;
#[cfg(test)]
mod tests;

use std::io::Cursor;
use std::sync::Arc;

use consumer_demo::SentCookies;
use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{ContentType, Cookie, Method, SameSite, Status};
use rocket::time::Duration;
use rocket::{Build, Data, Request, Response, Rocket};
use url::Url;

use crate::facts::LoginFlow;
use crate::page::asset;
use crate::proxy::ProxyState;
use panel::{LoginChoice, Page, problem, with_links, with_panel};

/// The part of a demo's server that adds the panel to its answers.
#[derive(Clone)]
pub(crate) struct DemoPanel {
    proxy_state: Arc<ProxyState>,
    /// The URL of the control address.
    control: String,
    /// The demo's project.
    client_id: String,
    cookie: LoginsCookie,
}

/// The number of the last event before a request.
struct LastSeq(u64);

impl DemoPanel {
    /// A panel for the demo at `demo`, with links to `control`.
    pub(crate) fn new(
        proxy_state: Arc<ProxyState>,
        control: String,
        client_id: String,
        demo: &str,
    ) -> Self {
        Self {
            proxy_state,
            control,
            client_id,
            cookie: LoginsCookie::of(demo),
        }
    }

    /// Adds the panel to a server of the demo.
    pub(crate) fn attach(&self, demo: Rocket<Build>) -> Rocket<Build> {
        // The demo's policy admits style sheets of its own origin only.
        let style = include_str!("../static/demo_panel.css");
        let style = asset("/panel.css", ContentType::CSS, style);
        demo.attach(self.clone()).mount("/kit", [style])
    }

    /// The page with what the stack adds to it.
    fn extended(&self, page: Page, html: &str, request: &Request<'_>) -> String {
        if page == Page::Home {
            return with_links(html, &self.control);
        }
        let problem = problem(html);
        if page != Page::Profile && problem.is_none() {
            // A page about the request itself, such as 404.
            return html.to_owned();
        }
        let LastSeq(before) = request.local_cache(|| LastSeq(u64::MAX));
        let choice = LoginChoice {
            proxy_state: &self.proxy_state,
            client_id: &self.client_id,
            before: *before,
        };
        let panel = choice.panel(page, problem, &self.cookie.read(request));
        with_panel(html, &self.control, &panel)
    }
}

/// Adds the cookie at a start, and the panel to the pages.
#[rocket::async_trait]
impl Fairing for DemoPanel {
    fn info(&self) -> Info {
        Info {
            name: "what just happened",
            kind: Kind::Request | Kind::Response,
        }
    }

    async fn on_request(&self, request: &mut Request<'_>, _: &mut Data<'_>) {
        request.local_cache(|| LastSeq(self.proxy_state.event_log.last_seq()));
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        let Some(page) = page_of(request) else {
            return;
        };
        if let (Page::Start, Status::SeeOther) = (page, response.status()) {
            let secrets = self.proxy_state.event_log.secrets();
            let location = response.headers().get_one("Location");
            if let Some(login) = location.and_then(|location| secrets.login_at(location)) {
                let cookie = self.cookie.with(login.as_str(), request);
                response.adjoin_header(&cookie);
            }
        } else if response.content_type().is_some_and(|media| media.is_html()) {
            let Ok(html) = response.body_mut().to_bytes().await else {
                return;
            };
            let body = match std::str::from_utf8(&html) {
                Ok(text) => self.extended(page, text, request).into_bytes(),
                Err(_) => html,
            };
            response.set_sized_body(body.len(), Cursor::new(body));
        }
    }
}

fn page_of(request: &Request<'_>) -> Option<Page> {
    let path = request.uri().path().as_str();
    Some(match (request.method(), path) {
        (Method::Get, "/") => Page::Home,
        (Method::Get, "/profile") => Page::Profile,
        (Method::Get, "/callback") => Page::Callback(LoginFlow::Clean),
        (Method::Get, "/legacy/callback") => Page::Callback(LoginFlow::Legacy),
        (Method::Post, _) if path.starts_with("/login/") => Page::Start,
        (Method::Post, _) if path.starts_with("/legacy/login/") => Page::Start,
        _ => return None,
    })
}

/// The number of ids that are kept: the one that signed the user in, and several starts
/// after it.
const MAX_LOGINS: usize = 8;

/// The time that a browser keeps them.
const MAX_AGE: Duration = Duration::days(1);

/// The length of an id.
const ID_LENGTH: usize = 12;

/// The cookie of one demo, with the ids of the logins that a browser has started, newest first.
#[derive(Debug, Clone)]
struct LoginsCookie {
    name: String,
    is_secure: bool,
}

impl LoginsCookie {
    /// The cookie of the demo at `url`. Its name contains the port, because browsers share
    /// the cookies of all ports of a host, and a sandbox has a demo of its own.
    fn of(url: &str) -> Self {
        let url = Url::parse(url).ok();
        let port = url.as_ref().and_then(Url::port_or_known_default);
        let is_secure = url.as_ref().is_some_and(|url| url.scheme() == "https");
        let prefix = if is_secure { "__Host-" } else { "" };
        Self {
            name: format!("{prefix}kit_logins_{}", port.unwrap_or_default()),
            is_secure,
        }
    }

    /// The ids that the browser sent. A malformed one is left out.
    fn read(&self, request: &Request<'_>) -> Vec<String> {
        let Some(value) = SentCookies::of(request).value(&self.name) else {
            return Vec::new();
        };
        let ids = value.split('.').filter(|id| is_id(id));
        ids.take(MAX_LOGINS).map(ToOwned::to_owned).collect()
    }

    /// The cookie with `login` before those that the browser sent.
    fn with(&self, login: &str, request: &Request<'_>) -> Cookie<'static> {
        let mut ids = self.read(request);
        ids.retain(|id| id != login);
        ids.insert(0, login.to_owned());
        ids.truncate(MAX_LOGINS);
        Cookie::build((self.name.clone(), ids.join(".")))
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(self.is_secure)
            .path("/")
            .max_age(MAX_AGE)
            .build()
    }
}

fn is_id(text: &str) -> bool {
    text.len() == ID_LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

//! The panel *What just happened* on the demo's pages: the login of this browser in plain
//! words, each line with its place in the demo's source and a link to its arrow.
//!
//! The stack adds it to the demo's answers, so that the demo's own code stays free of it. A
//! cookie of the stack's keeps the ids of the logins that the browser has started; an id
//! is no secret.

mod cookie;
mod login_choice;
mod page;
mod story;
#[cfg(test)]
mod tests;

use std::io::Cursor;
use std::sync::Arc;

use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{ContentType, Method, Status};
use rocket::{Build, Data, Request, Response, Rocket, get, routes};

use crate::facts::LoginFlow;
use crate::proxy::ProxyState;
use cookie::LoginsCookie;
use login_choice::{LoginChoice, Page};

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
        demo.attach(self.clone()).mount("/kit", routes![style])
    }

    /// The page with what the stack adds to it.
    fn extended(&self, page: Page, html: &str, request: &Request<'_>) -> String {
        if page == Page::Home {
            return page::with_links(html, &self.control);
        }
        let problem = page::problem(html);
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
        page::with_panel(html, &self.control, &panel)
    }
}

/// The style of the panel. The demo's policy admits style sheets of its own origin only.
#[get("/panel.css")]
fn style() -> (ContentType, &'static str) {
    (ContentType::CSS, include_str!("../static/demo_panel.css"))
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

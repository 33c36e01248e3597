//! The change of the demo's answers: the cookie at a start, the panel in the pages.

use std::io::Cursor;

use broker::model::LoginId;
use contract::State;
use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{Method, Status};
use rocket::{Data, Request, Response};
use url::Url;

use super::DemoPanel;
use super::login_choice::Page;
use super::page;
use crate::login_status::LoginFlow;

/// The number of the last event before a request.
struct LastSeq(u64);

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
            let location = response.headers().get_one("Location");
            if let Some(login) = location.and_then(|location| self.started_login(location)) {
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

impl DemoPanel {
    /// The login to which the redirect after a start leads.
    fn started_login(&self, location: &str) -> Option<LoginId> {
        let url = Url::parse(location).ok()?;
        if url.path() == "/authorize" {
            let mut query = url.query_pairs();
            let (_, state) = query.find(|(name, _)| name == "state")?;
            return Some(LoginId::of_state(&state.parse::<State>().ok()?));
        }
        let handle = url.path_segments()?.next_back()?;
        self.proxy_state.event_log.secrets().owner_of(handle)?.login
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
        let LastSeq(last) = request.local_cache(|| LastSeq(u64::MAX));
        let logins = self.cookie.read(request);
        let panel = self.panel(page, problem, *last, &logins);
        page::with_panel(html, &self.control, &panel)
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

//! Rocket around the handlers: its settings, the headers of every answer, 405 for
//! methods that a path doesn't have, and the request log.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

use rocket::config::{Ident, LogLevel, Shutdown};
use rocket::fairing::AdHoc;
use rocket::http::{ContentType, Header, Method, Status};
use rocket::response::{self, Responder};
use rocket::route::{Handler, Outcome, Route};
use rocket::shield::Shield;
use rocket::{Build, Data, Request, Response, Rocket, catchers, get, routes};

use crate::app::App;
use crate::config::{self, StartError};
use crate::{clean, legacy, pages, site};

impl App {
    /// A server for this application that will listen on `bind`; port 0 takes a
    /// free one. It reads no `Rocket.toml`, no environment and no signals.
    ///
    /// # Errors
    ///
    /// [`StartError`] when `bind` is reachable from outside and the client
    /// secret is an example.
    pub fn rocket(self: &Arc<Self>, bind: SocketAddr) -> Result<Rocket<Build>, StartError> {
        if !bind.ip().is_loopback() {
            config::refuse_if_example(&self.config.client_secret)?;
        }
        Ok(build(Arc::clone(self), bind))
    }
}

fn build(app: Arc<App>, bind: SocketAddr) -> Rocket<Build> {
    let config = rocket::Config {
        address: bind.ip(),
        port: bind.port(),
        // Rocket logs request lines with their queries, in which `code` and
        // `state` arrive: off, and our own log instead, below.
        log_level: LogLevel::Off,
        cli_colors: false,
        ident: Ident::none(),
        // By default Rocket believes an X-Real-IP header from anyone.
        ip_header: None,
        // The program runs several servers and handles the signals itself.
        shutdown: Shutdown {
            ctrlc: false,
            signals: HashSet::new(),
            grace: 2,
            mercy: 1,
            ..Shutdown::default()
        },
        ..rocket::Config::default()
    };
    rocket::custom(config)
        .manage(app)
        .attach(Shield::new()) // empty: all headers are in one place, below
        .attach(headers())
        .attach(request_log())
        .mount("/", clean::routes())
        .mount("/", legacy::routes())
        .mount("/", site::routes())
        .mount("/", routes![stylesheet, icon])
        .mount("/", method_not_allowed_routes())
        .register("/", catchers![pages::catcher])
}

// [headers]
/// The headers of every answer.
fn headers() -> AdHoc {
    AdHoc::on_response("Headers", |_, response| {
        Box::pin(async move {
            for (name, value) in [
                // Nothing runs, nothing is framed, nothing is loaded from elsewhere
                // but pictures. There is no `form-action` on purpose: browsers apply
                // it to the redirect after a form as well, so `form-action 'self'`
                // blocks the 303 to the broker, and with it every login. Hardening
                // packages like to set it; check yours.
                (
                    "Content-Security-Policy",
                    "default-src 'none'; style-src 'self'; img-src 'self' https:; \
                     base-uri 'none'; frame-ancestors 'none'",
                ),
                // Not `no-referrer`: the broker reads from the Referer's origin that
                // a login began on our page; without it, users see a page that asks
                // whether it did. This value sends the origin only, never a path.
                ("Referrer-Policy", "strict-origin-when-cross-origin"),
                ("X-Content-Type-Options", "nosniff"),
            ] {
                response.set_raw_header(name, value);
            }
            if !response.headers().contains("Cache-Control") {
                // The signed-in user changes; a cache must not show the last one.
                response.set_raw_header("Cache-Control", "no-store");
            }
        })
    })
}
// [/]

/// One line per request: its method, the *name* of its route and the status.
/// Never the address, which may contain a code; never a header or a body.
fn request_log() -> AdHoc {
    AdHoc::on_response("Request log", |request, response| {
        Box::pin(async move {
            let route = request.route();
            tracing::info!(
                "browser → demo {} {}  {}",
                request.method(),
                route.map_or("(no route)", |route| route.uri.as_str()),
                response.status().code
            );
        })
    })
}

/// A file that is part of the program.
#[derive(rocket::Responder)]
struct Asset {
    body: &'static str,
    content_type: ContentType,
    cache: Header<'static>,
}

impl Asset {
    fn new(body: &'static str, content_type: ContentType) -> Self {
        Self {
            body,
            content_type,
            cache: Header::new("Cache-Control", "public, max-age=300"),
        }
    }
}

#[get("/style.css")]
fn stylesheet() -> Asset {
    Asset::new(include_str!("../static/style.css"), ContentType::CSS)
}

#[get("/icon.svg")]
fn icon() -> Asset {
    Asset::new(include_str!("../static/icon.svg"), ContentType::SVG)
}

/// Our paths, each with its method.
const PATHS: [(&str, Method); 8] = [
    ("/", Method::Get),
    ("/profile", Method::Get),
    ("/callback", Method::Get),
    ("/legacy/callback", Method::Get),
    ("/login/<provider>", Method::Post),
    ("/legacy/login/<provider>", Method::Post),
    ("/note", Method::Post),
    ("/sign-out", Method::Post),
];

/// A route for each method that a path doesn't have. Rocket would answer 404, which
/// suggests a mistyped address.
fn method_not_allowed_routes() -> Vec<Route> {
    // HEAD follows GET, by Rocket's own rule.
    let methods = [
        Method::Get,
        Method::Post,
        Method::Put,
        Method::Patch,
        Method::Delete,
        Method::Options,
    ];
    let others = PATHS.into_iter().flat_map(|(path, allowed)| {
        let missing = methods.into_iter().filter(move |it| *it != allowed);
        missing.map(move |it| Route::ranked(100, it, path, MethodNotAllowed { allowed }))
    });
    others.collect()
}

/// Answers 405, and names the method that is allowed.
#[derive(Clone, Copy)]
struct MethodNotAllowed {
    allowed: Method,
}

#[rocket::async_trait]
impl Handler for MethodNotAllowed {
    async fn handle<'r>(&self, request: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        Outcome::from(request, *self)
    }
}

impl<'r> Responder<'r, 'static> for MethodNotAllowed {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let page = pages::catcher(Status::MethodNotAllowed, request);
        let allow = match self.allowed {
            Method::Get => "GET, HEAD",
            method => method.as_str(),
        };
        Response::build_from(page.respond_to(request)?)
            .raw_header("Allow", allow)
            .ok()
    }
}

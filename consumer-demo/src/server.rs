//! Rocket around the handlers: its settings, the headers of every answer, the
//! methods that a path doesn't have, and the request log.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

use rocket::config::{Ident, LogLevel, Shutdown};
use rocket::fairing::{Fairing, Info, Kind};
use rocket::http::{ContentType, Header, Method, Status};
use rocket::response::{self, Responder};
use rocket::route::{Handler, Outcome, Route};
use rocket::shield::Shield;
use rocket::{Build, Data, Request, Response, Rocket, catchers, get, routes};

use crate::{App, clean, legacy, pages, site};

/// A server for `app` on `bind`.
pub(crate) fn build(app: Arc<App>, bind: SocketAddr) -> Rocket<Build> {
    let config = rocket::Config {
        address: bind.ip(),
        port: bind.port(),
        // Rocket logs request lines with their queries, in which `code` and
        // `state` arrive: off, and a log of our own below.
        log_level: LogLevel::Off,
        cli_colors: false,
        ident: Ident::none(),
        // By default Rocket believes an X-Real-IP header from anyone.
        ip_header: None,
        // Whoever runs several servers in one process handles the signals.
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
        .attach(Headers)
        .attach(RequestLog)
        .mount("/", clean::routes())
        .mount("/", legacy::routes())
        .mount("/", site::routes())
        .mount("/", routes![stylesheet, icon])
        .mount("/", wrong_methods())
        .register("/", catchers![pages::catcher])
}

/// The headers of every answer.
struct Headers;

#[rocket::async_trait]
impl Fairing for Headers {
    fn info(&self) -> Info {
        Info {
            name: "Headers",
            kind: Kind::Response,
        }
    }

    async fn on_response<'r>(&self, _: &'r Request<'_>, response: &mut Response<'r>) {
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
            // a login began on our page; without it, people see a page asking
            // whether it did. This value shows the origin only, never a path.
            ("Referrer-Policy", "strict-origin-when-cross-origin"),
            ("X-Content-Type-Options", "nosniff"),
        ] {
            response.set_raw_header(name, value);
        }
        if !response.headers().contains("Cache-Control") {
            // Who is signed in changes; a cache must not show the last person.
            response.set_raw_header("Cache-Control", "no-store");
        }
    }
}

/// One line per request: its method, the *name* of its route and the status.
/// Never the address, which may bear a code; never a header or a body.
struct RequestLog;

#[rocket::async_trait]
impl Fairing for RequestLog {
    fn info(&self) -> Info {
        Info {
            name: "Request log",
            kind: Kind::Response,
        }
    }

    async fn on_response<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        tracing::info!(
            method = %request.method(),
            route = request.route().map_or("none", |route| route.uri.as_str()),
            status = response.status().code,
            "request"
        );
    }
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

/// Our paths, and the method that each of them has.
const PATHS: [(&str, Method); 7] = [
    ("/", Method::Get),
    ("/profile", Method::Get),
    ("/callback", Method::Get),
    ("/legacy/callback", Method::Get),
    ("/login/<provider>", Method::Post),
    ("/legacy/login/<provider>", Method::Post),
    ("/sign-out", Method::Post),
];

/// For every path, a route for each method it doesn't have. Rocket would answer
/// 404, which sends people looking for a typing error.
fn wrong_methods() -> Vec<Route> {
    // HEAD follows GET, by Rocket's own rule.
    let methods = [
        Method::Get,
        Method::Post,
        Method::Put,
        Method::Patch,
        Method::Delete,
        Method::Options,
    ];
    PATHS
        .into_iter()
        .flat_map(|(path, own)| {
            methods
                .into_iter()
                .filter(move |method| *method != own)
                .map(move |method| Route::ranked(100, method, path, NotThisMethod { own }))
        })
        .collect()
}

/// Answers 405, and names the method that would work.
#[derive(Clone)]
struct NotThisMethod {
    own: Method,
}

#[rocket::async_trait]
impl Handler for NotThisMethod {
    async fn handle<'r>(&self, request: &'r Request<'_>, _: Data<'r>) -> Outcome<'r> {
        Outcome::from(request, MethodNotAllowed { own: self.own })
    }
}

struct MethodNotAllowed {
    own: Method,
}

impl<'r> Responder<'r, 'static> for MethodNotAllowed {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let page = pages::catcher(Status::MethodNotAllowed, request);
        let allow = match self.own {
            Method::Get => "GET, HEAD",
            own => own.as_str(),
        };
        Response::build_from(page.respond_to(request)?)
            .raw_header("Allow", allow)
            .ok()
    }
}

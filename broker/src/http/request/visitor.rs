//! The headers in which a visitor's browser reports the start of a navigation.

use rocket::Request;
use rocket::http::HeaderMap;
use rocket::request::{FromRequest, Outcome};

use crate::http::raw_headers::only;
use crate::relay::{Fetch, Referrer, Visit};

/// A browser, or another client, at an address that browsers visit.
pub(crate) struct Visitor(Visit);

impl std::ops::Deref for Visitor {
    type Target = Visit;

    fn deref(&self) -> &Visit {
        &self.0
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Visitor {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let headers = request.headers();
        Outcome::Success(Visitor(Visit {
            fetch: fetch(headers),
            referrer: referrer(headers),
        }))
    }
}

/// The fetch metadata of a browser, which sends all three headers. The `fetch` of Node
/// sends `Sec-Fetch-Mode: cors` alone, and is not a browser.
fn fetch(headers: &HeaderMap<'_>) -> Option<Fetch> {
    let own = |name| only(headers, name).map(ToOwned::to_owned);
    let is_a_browsers = headers.iter().any(|header| {
        let name = header.name().as_str();
        starts_with(name, "sec-fetch-") && !name.eq_ignore_ascii_case("sec-fetch-mode")
    });
    is_a_browsers.then(|| Fetch {
        site: own("Sec-Fetch-Site"),
        mode: own("Sec-Fetch-Mode"),
        dest: own("Sec-Fetch-Dest"),
    })
}

fn starts_with(name: &str, start: &str) -> bool {
    let beginning = name.get(..start.len());
    beginning.is_some_and(|it| it.eq_ignore_ascii_case(start))
}

fn referrer(headers: &HeaderMap<'_>) -> Referrer {
    if !headers.contains("Referer") {
        return Referrer::Absent;
    }
    match only(headers, "Referer").map(url::Url::parse) {
        Some(Ok(page)) => Referrer::Page(page.origin().ascii_serialization()),
        _ => Referrer::Unreadable,
    }
}

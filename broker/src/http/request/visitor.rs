//! What a visitor's browser tells of its own accord: where a navigation began, and
//! which page a button was pressed on.

use rocket::Request;
use rocket::http::HeaderMap;
use rocket::request::{FromRequest, Outcome};

use crate::http::raw_headers::only;
use crate::relay::{CameFrom, Fetch, Visit};

/// Whoever visits.
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
            came_from: came_from(headers),
        }))
    }
}

/// What a browser tells of its fetch. It tells all three; the `fetch` of Node, which
/// is none, says `Sec-Fetch-Mode: cors` of its own accord and no more.
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

fn came_from(headers: &HeaderMap<'_>) -> CameFrom {
    if !headers.contains("Referer") {
        return CameFrom::Nowhere;
    }
    match only(headers, "Referer").map(url::Url::parse) {
        Some(Ok(page)) => CameFrom::Page(page.origin().ascii_serialization()),
        _ => CameFrom::Unreadable,
    }
}

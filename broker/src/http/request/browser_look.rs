//! The headers by which a browser introduces itself, the same with each request.

use rocket::http::HeaderMap;

/// Every header that browsers send alike from their first request to a host on.
const HEADERS: [&str; 5] = [
    "User-Agent",
    "Accept-Language",
    "Sec-CH-UA",
    "Sec-CH-UA-Mobile",
    "Sec-CH-UA-Platform",
];

/// These headers as one text. A client that sends no fetch metadata looks different from
/// a browser, which does.
pub(super) fn of(headers: &HeaderMap<'_>) -> String {
    let lines = HEADERS.map(|name| headers.get(name).collect::<Vec<_>>().join("\n"));
    let is_browser = headers.contains("Sec-Fetch-Mode");
    format!("{}\n{is_browser}", lines.join("\n"))
}

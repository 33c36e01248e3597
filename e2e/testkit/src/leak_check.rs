//! Finds the secrets of a test in everything that was written meanwhile: pages, log
//! lines, database files, a proxy's log.
//!
//! There are two ways to search. A [`LeakCheck`] knows the secrets and finds each in
//! every spelling, also when it was cut short. [`suspicious`] does not know them, and
//! goes by what all of them look like. [`watch_log`] applies it to every line that a
//! process logs: one call in each suite. [`in_response`] applies it to a broker's response,
//! outside the places that the specification has for secrets: so it finds the ones that a
//! broker draws as well as those that a test chose.
//!
//! ```
//! use testkit::leak_check::suspicious;
//!
//! let careless = "refused LeakMark-Qx";
//! assert!(suspicious(careless).is_some());
//! ```

pub mod log;
mod shape;

use hyper::HeaderMap;
use url::Url;

use crate::response::Response;

pub use agent::secrets::LeakCheck;
pub use log::{watch_log, watch_log_and, without_keeping_log};
pub use shape::{MARK, drawn, suspicious};

/// Parameters of a redirect's address that carry a secret.
const SECRET_PARAMETERS: [&str; 4] = ["state", "code", "code_challenge", "nonce"];

/// Headers that hold what looks like a secret: the digests of our own scripts and
/// styles, and what only a browser gets. An address is checked by itself.
const EXEMPT_HEADERS: [&str; 3] = ["content-security-policy", "set-cookie", "location"];

/// The part of a broker's response that contains a secret which does not belong there.
#[must_use]
pub fn in_response(response: &Response) -> Option<String> {
    if !response.is_a_brokers() {
        return None;
    }
    in_headers(&response.headers)
        .or_else(|| response.location().and_then(in_address))
        .or_else(|| in_page(response))
}

fn in_headers(headers: &HeaderMap) -> Option<String> {
    let mut others = headers
        .iter()
        .filter(|(name, _)| !EXEMPT_HEADERS.contains(&name.as_str()));
    others
        .find(|(_, value)| suspicious(&String::from_utf8_lossy(value.as_bytes())).is_some())
        .map(|(name, _)| name.to_string())
}

fn in_address(address: &str) -> Option<String> {
    let Ok(url) = Url::parse(address) else {
        return suspicious(address).map(|_| "a relative address".to_owned());
    };
    let mut rest = url.clone();
    rest.set_query(None);
    let leaks = |name: &str, value: &str| {
        let is_exempt = SECRET_PARAMETERS.contains(&name);
        suspicious(name).is_some() || (suspicious(value).is_some() && !is_exempt)
    };
    suspicious(rest.as_str())
        .map(|_| "the path of an address".to_owned())
        .or_else(|| {
            let mut parameters = url.query_pairs();
            let parameter = parameters.find(|(name, value)| leaks(name, value))?;
            Some(format!("{} in an address", parameter.0))
        })
}

/// The contract lists the members of a body of JSON, so only pages are left. The
/// confirmation page sends its forms to its login's address, which holds the handle.
fn in_page(response: &Response) -> Option<String> {
    let is_a_page = response.header("content-type")?.starts_with("text/");
    let body = String::from_utf8_lossy(&response.body);
    let mut parts = body.split("action=\"/login/");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_handle, behind) = part.split_once('/').unwrap_or(("", part));
        shown.push_str(behind);
    }
    (is_a_page && suspicious(&shown).is_some()).then(|| "the page".to_owned())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn response(headers: &[(&'static str, String)], body: &str) -> Response {
        let mut map = HeaderMap::new();
        map.insert("x-request-id", HeaderValue::from_static("one"));
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header"));
        }
        Response {
            status: 200,
            headers: map,
            body: body.into(),
        }
    }

    // Threats: A15.
    #[test]
    fn a_secret_where_it_does_not_belong_is_found() {
        let secret = format!("{MARK}{}", &agent::random::secret()[MARK.len()..]);
        let page = [("content-type", "text/html".to_owned())];
        let redirect = |location: String| response(&[("location", location)], "");
        for careless in [
            response(&[("x-debug", secret.clone())], ""),
            redirect(format!("/{secret}")),
            redirect(format!("https://a.example/{secret}")),
            redirect(format!("https://a.example/?key={secret}")),
            redirect(format!("https://a.example/?{secret}=1")),
            redirect(format!("https://a.example/#{secret}")),
            response(&page, &format!("<p>{secret}</p>")),
            response(&page, &format!("<a href=\"/login/{secret}/cancel\">")),
            response(&page, &format!("<p>{}</p>", &secret[..12])),
        ] {
            assert!(in_response(&careless).is_some(), "{careless:?}");
        }
        for careful in [
            redirect(format!("https://a.example/?code={secret}")),
            response(&[("set-cookie", format!("a={secret}"))], ""),
            response(&page, "<p>Signed in.</p>"),
            response(&page, &format!("<form action=\"/login/{secret}/cancel\">")),
        ] {
            assert_eq!(in_response(&careful), None);
        }
    }
}

//! Stands beside every test of these suites: no answer of a broker holds a secret
//! but where the specification puts one.
//!
//! It goes by what secrets look like ([`testkit::leak_check::suspicious`]), so it knows
//! those that a broker draws as well as those that a test chose, as
//! [`testkit::leak_check::watch_log`] does, which looks at every line of the log and at
//! every panic. `secrets_stay_in` looks closer, for secrets that it knows, at
//! everything that is written anywhere.

use reqwest::Method;
use reqwest::header::HeaderMap;
use testkit::leak_check::suspicious;
use url::Url;

use crate::reply::Reply;

/// Parameters of an address that a redirect may lead to with a secret inside.
const IN_AN_ADDRESS: [&str; 4] = ["state", "code", "code_challenge", "nonce"];

/// Headers that hold what looks like a secret: the digests of our own scripts and
/// styles, and what a browser alone shall keep. An address is looked at by itself.
const IN_A_HEADER: [&str; 3] = ["content-security-policy", "set-cookie", "location"];

/// Looks at an answer, and fails the test if it is a broker's and tells a secret.
#[track_caller]
pub(crate) fn sees(method: &Method, path: &str, reply: &Reply) {
    if let Some(leak) = leak(reply) {
        panic!("{method} {path} tells a secret: {leak}");
    }
}

/// Where in a broker's answer a secret is that does not belong there.
fn leak(reply: &Reply) -> Option<String> {
    // Only a broker's answers have this header, and all of them do.
    reply.header("x-request-id")?;
    let place = in_headers(&reply.headers)
        .or_else(|| reply.location().and_then(in_address))
        .or_else(|| in_body(reply));
    place.map(|place| format!("{place} of {reply:?}"))
}

fn in_headers(headers: &HeaderMap) -> Option<String> {
    let mut others = headers
        .iter()
        .filter(|(name, _)| !IN_A_HEADER.contains(&name.as_str()));
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
    let is_careless = |name: &str, value: &str| {
        let is_its_place = IN_AN_ADDRESS.contains(&name);
        suspicious(name).is_some() || (suspicious(value).is_some() && !is_its_place)
    };
    suspicious(rest.as_str())
        .map(|_| "the path of an address".to_owned())
        .or_else(|| {
            let mut parameters = url.query_pairs();
            let parameter = parameters.find(|(name, value)| is_careless(name, value))?;
            Some(format!("{} in an address", parameter.0))
        })
}

/// The contract says which fields a body of JSON has, so only pages are left. A
/// page that asks before a login goes on sends its forms to that login's address.
fn in_body(reply: &Reply) -> Option<String> {
    let is_a_page = reply.header("content-type")?.starts_with("text/");
    let mut parts = reply.body.split("action=\"/login/");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_handle, behind) = part.split_once('/').unwrap_or(("", part));
        shown.push_str(behind);
    }
    (is_a_page && suspicious(&shown).is_some()).then(|| "the page".to_owned())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;
    use crate::fresh;

    fn answer(headers: &[(&'static str, String)], body: &str) -> Reply {
        let mut map = HeaderMap::new();
        map.insert("x-request-id", HeaderValue::from_static("one"));
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header"));
        }
        let (status, body) = (200, body.to_owned());
        let headers = map;
        Reply {
            status,
            headers,
            body,
        }
    }

    #[test]
    fn a_secret_out_of_its_place_is_seen_wherever_it_is() {
        let secret = fresh::secret();
        let page = [("content-type", "text/html".to_owned())];
        for careless in [
            answer(&[("x-debug", secret.clone())], ""),
            answer(&[("location", format!("/{secret}"))], ""),
            answer(&[("location", format!("https://a.example/{secret}"))], ""),
            answer(
                &[("location", format!("https://a.example/?key={secret}"))],
                "",
            ),
            answer(
                &[("location", format!("https://a.example/?{secret}=1"))],
                "",
            ),
            answer(&[("location", format!("https://a.example/#{secret}"))], ""),
            answer(&page, &format!("<p>{secret}</p>")),
            answer(&page, &format!("<a href=\"/login/{secret}/cancel\">")),
            answer(&page, &format!("<p>{}</p>", &secret[..12])),
        ] {
            assert!(leak(&careless).is_some(), "{careless:?}");
        }
        for right in [
            answer(
                &[("location", format!("https://a.example/?code={secret}"))],
                "",
            ),
            answer(&[("set-cookie", format!("a={secret}"))], ""),
            answer(&page, "<p>Signed in.</p>"),
            answer(&page, &format!("<form action=\"/login/{secret}/cancel\">")),
        ] {
            assert_eq!(leak(&right), None);
        }
    }
}

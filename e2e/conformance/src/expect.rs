//! Pure checks of a response. A failed check says what was expected.

use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use url::Url;

use super::http::{self, Exchange};

/// The result of a check; the error is the expectation that failed.
pub(crate) type Check = Result<(), String>;

/// Turns a condition into a check.
pub(crate) fn ensure(holds: bool, expected: impl Into<String>) -> Check {
    if holds { Ok(()) } else { Err(expected.into()) }
}

/// The status is exactly this one.
pub(crate) fn status(exchange: &Exchange, expected: u16) -> Check {
    ensure(exchange.status == expected, format!("expected {expected}"))
}

/// Any success.
pub(crate) fn success(exchange: &Exchange) -> Check {
    ensure(exchange.is_success(), "expected a success")
}

/// Any 4xx: the request did nothing, and the server has no fault.
pub(crate) fn refusal(exchange: &Exchange) -> Check {
    let is_refusal = (400..500).contains(&exchange.status);
    ensure(is_refusal, "expected a refusal (4xx)")
}

/// The media type is JSON, with any parameters.
pub(crate) fn json_media_type(exchange: &Exchange) -> Check {
    let media_type = exchange.header(CONTENT_TYPE);
    let essence = media_type.split(';').next().unwrap_or_default();
    ensure(
        essence.trim().eq_ignore_ascii_case("application/json"),
        "expected Content-Type: application/json",
    )
}

/// An object with at least these members.
pub(crate) fn has(value: &Value, members: &[&str]) -> Check {
    let Some(object) = value.as_object() else {
        return Err("expected a JSON object".to_owned());
    };
    match members.iter().find(|name| !object.contains_key(**name)) {
        Some(missing) => Err(format!("expected the member {missing}")),
        None => Ok(()),
    }
}

/// An object without other members than these; anything that is no object holds.
pub(crate) fn no_members_but(value: &Value, members: &[&str]) -> Check {
    let mut names = value
        .as_object()
        .into_iter()
        .flat_map(|object| object.keys());
    match names.find(|name| !members.contains(&name.as_str())) {
        Some(more) => Err(format!("this kit sends no member {more}")),
        None => Ok(()),
    }
}

/// The member is exactly this value. To JSON Schema, 600.0 is an integer, too.
pub(crate) fn member(value: &Value, name: &str, expected: impl Into<Value>) -> Check {
    let expected = expected.into();
    let is_it = value.get(name).is_some_and(|found| {
        *found == expected || (found.is_number() && found.as_f64() == expected.as_f64())
    });
    ensure(is_it, format!("expected {name} to be {expected}"))
}

/// ApiError.
pub(crate) fn api_error(value: &Value) -> Check {
    has(value, &["error"])?;
    ensure(value["error"].is_string(), "expected error to be a string")?;
    let message = value.get("message");
    ensure(
        message.is_none_or(Value::is_string),
        "expected message to be a string",
    )
}

/// The members of a LoginResult, by its own status; none for an unknown status.
pub(crate) fn members_of_result(value: &Value) -> Option<&'static [&'static str]> {
    match value["status"].as_str() {
        Some("pending") => Some(&["status"]),
        Some("succeeded") => Some(&["status", "profile"]),
        Some("failed") => Some(&["status", "error"]),
        _ => None,
    }
}

/// LoginResult, by its own status. A member of another status may be null.
pub(crate) fn login_result(value: &Value) -> Check {
    let Some(members) = members_of_result(value) else {
        return Err("expected status to be pending, succeeded or failed".to_owned());
    };
    has(value, members)?;
    let mut others = ["profile", "error"]
        .into_iter()
        .filter(|name| !members.contains(name));
    match others.find(|name| !value[name].is_null()) {
        Some(other) => Err(format!("expected no {other}")),
        None => Ok(()),
    }
}

/// A URL that a browser may be sent to: HTTPS or HTTP loopback, without credentials, query
/// or fragment, at most 2048 characters.
pub(crate) fn plain_url(text: &str) -> Check {
    ensure(
        text.chars().count() <= 2048,
        "expected at most 2048 characters",
    )?;
    let url = Url::parse(text).map_err(|_| "expected a URL")?;
    let is_safe = match url.scheme() {
        "https" => url.has_host(),
        _ => http::is_http_loopback(text),
    };
    ensure(is_safe, "expected HTTPS, or HTTP on loopback")?;
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    ensure(!has_credentials, "expected no credentials in the URL")?;
    ensure(!text.contains('?'), "expected no query")?;
    ensure(!text.contains('#'), "expected no fragment")
}

/// A cookie that neither scripts nor other sites' requests use.
pub(crate) fn cookie(set_cookie: &str, is_off_loopback: bool) -> Check {
    let attributes = set_cookie.split(';').skip(1);
    let attributes: Vec<_> = attributes.map(|it| it.trim().to_lowercase()).collect();
    let has = |attribute: &str| attributes.iter().any(|it| it == attribute);
    ensure(has("httponly"), "this kit's cookies are HttpOnly")?;
    ensure(has("samesite=lax"), "this kit's cookies are SameSite=Lax")?;
    ensure(
        has("secure") || !is_off_loopback,
        "this kit's cookies are Secure off loopback",
    )
}

/// The prefix of an access token: the text before the underscore and the 43
/// characters.
pub(crate) fn token_prefix(token: &str) -> Option<&str> {
    let start = token.len().checked_sub(43)?;
    let (head, random) = (token.get(..start)?, token.get(start..)?);
    let prefix = head.strip_suffix('_').filter(|it| !it.is_empty())?;
    is_43_base64url(random).then_some(prefix)
}

/// 43 characters of base64url.
pub(crate) fn is_43_base64url(text: &str) -> bool {
    let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    text.len() == 43 && text.bytes().all(is_base64url)
}

/// No member has the name of a provider's token. `access_token` is the broker's own
/// one at the token endpoint.
pub(crate) fn no_upstream_token(value: &Value, at_token: bool) -> Check {
    const TOKENS: &[&str] = &["id_token", "refresh_token"];
    match value {
        Value::Object(members) => members.iter().try_for_each(|(name, member)| {
            let is_token = TOKENS.contains(&name.as_str())
                || (name == "access_token" && !at_token)
                || name.contains("upstream_token")
                || name.contains("provider_token");
            ensure(!is_token, format!("expected no member {name}"))?;
            no_upstream_token(member, false)
        }),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| no_upstream_token(item, false)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_to_https_or_to_http_on_exactly_this_machine() {
        for (url, holds) in [
            ("https://broker.example/login", true),
            ("http://localhost:8000/login", true),
            ("http://127.0.0.1/login", true),
            ("http://[::1]/login", true),
            ("http://x.localhost/login", false),
            ("http://broker.example/login", false),
            ("ftp://localhost/login", false),
        ] {
            assert_eq!(plain_url(url).is_ok(), holds, "{url}");
        }
    }

    #[track_caller]
    fn check(set_cookie: &str, is_off_loopback: bool, expected: Result<(), &str>) {
        let expected = expected.map_err(str::to_owned);
        assert_eq!(
            cookie(set_cookie, is_off_loopback),
            expected,
            "{set_cookie}"
        );
    }

    #[test]
    fn a_cookie_is_http_only_and_lax_and_off_loopback_secure() {
        let http_only = Err("this kit's cookies are HttpOnly");
        let lax = Err("this kit's cookies are SameSite=Lax");
        let secure = Err("this kit's cookies are Secure off loopback");
        check("a=1; Path=/; HttpOnly; SameSite=Lax", false, Ok(()));
        check("a=1; httponly; samesite=lax; secure", true, Ok(()));
        check("a=1; HttpOnly; SameSite=Lax", true, secure);
        check("a=HttpOnly; SameSite=Lax", false, http_only);
        check("a=1; HttpOnly; SameSite=None; Secure", true, lax);
    }
}

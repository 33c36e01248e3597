//! What an answer must be: pure judgements of JSON, each with what was expected.

use serde_json::Value;
use url::{Host, Url};

use super::http::Answer;

/// Whether something holds; if not, what was expected.
pub(crate) type Holds = Result<(), String>;

pub(crate) fn that(holds: bool, expected: impl Into<String>) -> Holds {
    if holds { Ok(()) } else { Err(expected.into()) }
}

/// The status is exactly this one.
pub(crate) fn status(answer: &Answer, expected: u16) -> Holds {
    that(answer.status == expected, format!("expected {expected}"))
}

/// Any success.
pub(crate) fn success(answer: &Answer) -> Holds {
    that(answer.is_success(), "expected a success")
}

/// Any refusal: nothing done, nothing handed out, and no fault of the server's.
pub(crate) fn refusal(answer: &Answer) -> Holds {
    that(
        (400..500).contains(&answer.status),
        "expected a refusal (4xx)",
    )
}

/// The media type is JSON, whatever its parameters.
pub(crate) fn json_media_type(answer: &Answer) -> Holds {
    let essence = answer.media_type.split(';').next().unwrap_or_default();
    that(
        essence.trim().eq_ignore_ascii_case("application/json"),
        "expected Content-Type: application/json",
    )
}

/// An object with these members, whatever others it has.
pub(crate) fn has(value: &Value, members: &[&str]) -> Holds {
    let Some(object) = value.as_object() else {
        return Err("expected a JSON object".to_owned());
    };
    match members.iter().find(|name| !object.contains_key(**name)) {
        Some(missing) => Err(format!("expected the member {missing}")),
        None => Ok(()),
    }
}

/// No members but these, if it is an object.
pub(crate) fn nothing_but(value: &Value, members: &[&str]) -> Holds {
    let mut names = value
        .as_object()
        .into_iter()
        .flat_map(|object| object.keys());
    match names.find(|name| !members.contains(&name.as_str())) {
        Some(more) => Err(format!("ours has no member {more}")),
        None => Ok(()),
    }
}

/// The member is exactly this value. To JSON Schema 600.0 is an integer, too.
pub(crate) fn member(value: &Value, name: &str, expected: impl Into<Value>) -> Holds {
    let expected = expected.into();
    let is_it = value.get(name).is_some_and(|found| {
        *found == expected || (found.is_number() && found.as_f64() == expected.as_f64())
    });
    that(is_it, format!("expected {name} to be {expected}"))
}

/// ApiError.
pub(crate) fn api_error(value: &Value) -> Holds {
    has(value, &["error"])?;
    that(value["error"].is_string(), "expected error to be a string")?;
    let message = value.get("message");
    that(
        message.is_none_or(Value::is_string),
        "expected message to be a string",
    )
}

/// The members of a LoginResult with this status; none, if there is no such status.
pub(crate) fn members_of_result(status: Option<&str>) -> Option<&'static [&'static str]> {
    match status {
        Some("pending") => Some(&["status"]),
        Some("succeeded") => Some(&["status", "profile"]),
        Some("failed") => Some(&["status", "error"]),
        _ => None,
    }
}

/// LoginResult, by its own status. A member of another status may be null.
pub(crate) fn login_result(value: &Value) -> Holds {
    let Some(members) = members_of_result(value["status"].as_str()) else {
        return Err("expected status to be pending, succeeded or failed".to_owned());
    };
    has(value, members)?;
    let others = ["profile", "error"].into_iter();
    match others
        .filter(|name| !members.contains(name))
        .find(|name| !value[name].is_null())
    {
        Some(other) => Err(format!("expected no {other}")),
        None => Ok(()),
    }
}

/// What a browser may be sent to: HTTPS or HTTP loopback, without credentials,
/// query or fragment, at most 2048 characters.
pub(crate) fn plain_url(text: &str) -> Holds {
    that(
        text.chars().count() <= 2048,
        "expected at most 2048 characters",
    )?;
    let url = Url::parse(text).map_err(|_| "expected a URL".to_owned())?;
    let is_safe = match url.scheme() {
        "https" => url.has_host(),
        "http" => url.host().is_some_and(|host| is_loopback(&host)),
        _ => false,
    };
    that(is_safe, "expected HTTPS, or HTTP on loopback")?;
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    that(!has_credentials, "expected no credentials in the URL")?;
    that(!text.contains('?'), "expected no query")?;
    that(!text.contains('#'), "expected no fragment")
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}

/// What stands before the underscore and the 43 characters of an access token.
pub(crate) fn token_prefix(token: &str) -> Option<&str> {
    let start = token.len().checked_sub(43)?;
    let (head, random) = (token.get(..start)?, token.get(start..)?);
    let prefix = head.strip_suffix('_').filter(|it| !it.is_empty())?;
    random.bytes().all(is_base64url).then_some(prefix)
}

/// 43 characters of base64url.
pub(crate) fn is_43(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(is_base64url)
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// No member that is called like a provider's token; `access_token` is ours, at
/// the token endpoint.
pub(crate) fn no_upstream_token(value: &Value, at_token: bool) -> Holds {
    const TOKENS: &[&str] = &["id_token", "refresh_token"];
    match value {
        Value::Object(members) => members.iter().try_for_each(|(name, member)| {
            let is_token = TOKENS.contains(&name.as_str())
                || (name == "access_token" && !at_token)
                || name.contains("upstream_token")
                || name.contains("provider_token");
            that(!is_token, format!("expected no member {name}"))?;
            no_upstream_token(member, false)
        }),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| no_upstream_token(item, false)),
        _ => Ok(()),
    }
}

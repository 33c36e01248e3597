//! The misbehaviours that both token endpoints share.

use serde_json::Value;

use super::pages;
use crate::http::{Delivery, Response};
use crate::{Misbehaviour, Provider};

/// 50 MB of JSON, compressed a thousandfold.
const BOMB: &[u8] = include_bytes!("../../bodies/bomb.json.gz");

/// A URL whose host never resolves (RFC 2606).
const ANOTHER_HOST: &str = "https://elsewhere.invalid/token";

/// The response to a token call, made from the `good` one.
pub(crate) fn token_response(
    misbehaviour: Misbehaviour,
    provider: Provider,
    good: Response,
) -> Response {
    use Misbehaviour as M;
    match misbehaviour {
        M::Timeout => good.with_delivery(Delivery::Silence),
        M::Reset => good.with_delivery(Delivery::Closed),
        M::ResetAfterHeaders => good.with_delivery(Delivery::Reset),
        M::CutShort => good.with_delivery(Delivery::Half),
        M::Drip => good.with_delivery(Delivery::Drip),
        M::TokenHuge => good.with_delivery(Delivery::Flood),
        M::Token500 => pages::server_error(provider, 500),
        M::Token502 => pages::server_error(provider, 502),
        M::Token503 => pages::server_error(provider, 503),
        M::TokenGarbage => first_half(good),
        M::TokenHtml => pages::network_login(provider),
        M::TokenWrongType => good.with_content_type("text/plain; charset=utf-8"),
        M::TokenEmpty => good.with_body(""),
        M::TokenEmptyObject => good.with_body("{}"),
        M::TokenDuplicateKeys => each_member_twice(good),
        M::TokenGzipBomb => good.with_body(BOMB).with_header("content-encoding", "gzip"),
        M::TokenRedirect302 => Response::redirect(302, ANOTHER_HOST),
        M::TokenRedirect307 => Response::redirect(307, ANOTHER_HOST),
        _ => good,
    }
}

/// The first half of the body, under a Content-Length of its own.
pub(crate) fn first_half(mut response: Response) -> Response {
    response.body.truncate(response.body.len() / 2);
    response
}

/// A JSON object with each member twice, forged and good; any other body stays.
fn each_member_twice(response: Response) -> Response {
    match forged_and_good(&response.body) {
        Some(body) => response.with_body(body),
        None => response,
    }
}

fn forged_and_good(object: &[u8]) -> Option<String> {
    let good = std::str::from_utf8(object).ok()?;
    let mut forged: serde_json::Map<_, _> = serde_json::from_str(good).ok()?;
    for value in forged.values_mut() {
        *value = "forged".into();
    }
    let forged = Value::Object(forged).to_string();
    Some(format!(
        "{},{}",
        forged.strip_suffix('}')?,
        good.strip_prefix('{')?
    ))
}

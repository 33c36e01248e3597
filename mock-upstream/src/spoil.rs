//! What both providers do wrong alike: an answer of the token endpoint, and a
//! person.

use serde_json::Value;

use crate::answer::{Answer, Delivery};
use crate::{Misbehaviour, Person, Provider, pages};

/// 50 MB of JSON, compressed a thousandfold.
const BOMB: &[u8] = include_bytes!("../bodies/bomb.json.gz");

/// A host that no name server knows (RFC 2606).
const ELSEWHERE: &str = "https://elsewhere.invalid/token";

/// What a token call gets in place of the `good` answer.
pub(crate) fn token_answer(misbehaviour: Misbehaviour, provider: Provider, good: Answer) -> Answer {
    use Misbehaviour as M;
    match misbehaviour {
        M::Timeout => good.delivered(Delivery::Silence),
        M::Reset => good.delivered(Delivery::Closed),
        M::ResetAfterHeaders => good.delivered(Delivery::Reset),
        M::CutShort => good.delivered(Delivery::Half),
        M::Drip => good.delivered(Delivery::Drip),
        M::TokenHuge => good.delivered(Delivery::Flood),
        M::Token500 => pages::server_error(provider, 500),
        M::Token502 => pages::server_error(provider, 502),
        M::Token503 => pages::server_error(provider, 503),
        M::TokenGarbage => first_half(good),
        M::TokenHtml => pages::in_the_way(provider),
        M::TokenWrongType => good.called("text/plain; charset=utf-8"),
        M::TokenEmpty => good.with_body(""),
        M::TokenEmptyObject => good.with_body("{}"),
        M::TokenDuplicateKeys => each_member_twice(good),
        M::TokenGzipBomb => good.with_body(BOMB).with("content-encoding", "gzip"),
        M::TokenRedirect302 => Answer::redirect(302, ELSEWHERE),
        M::TokenRedirect307 => Answer::redirect(307, ELSEWHERE),
        _ => good,
    }
}

/// The first half of the body, as if that were all of it.
pub(crate) fn first_half(mut answer: Answer) -> Answer {
    answer.body.truncate(answer.body.len() / 2);
    answer
}

/// A JSON object with its members twice; an answer that is none stays as it is.
fn each_member_twice(answer: Answer) -> Answer {
    match twice(&answer.body, |_| "forged".into()) {
        Some(body) => answer.with_body(body),
        None => answer,
    }
}

/// The members of the `object`, first as `forge` makes them, then as they are.
pub(crate) fn twice(object: &[u8], forge: impl Fn(&str) -> Value) -> Option<String> {
    let good = std::str::from_utf8(object).ok()?;
    let mut forged: serde_json::Map<_, _> = serde_json::from_str(good).ok()?;
    for (name, value) in &mut forged {
        *value = forge(name);
    }
    let forged = Value::Object(forged).to_string();
    Some(format!(
        "{},{}",
        forged.strip_suffix('}')?,
        good.strip_prefix('{')?
    ))
}

/// Makes `person` odd.
pub(crate) fn person(misbehaviour: Misbehaviour, person: &mut Person) {
    use Misbehaviour as M;
    match misbehaviour {
        M::EmailTwoAts => person.email = Some("ada@evil.example@people.example".to_owned()),
        M::NameBidi => person.name = Some("Ada \u{202e}ecalevoL".to_owned()),
        M::NameNul => person.name = Some("Ada\0 Lovelace".to_owned()),
        M::NameLong => person.name = Some("A".repeat(10_000)),
        M::AvatarJavascript => person.picture = Some("javascript:alert(1)".to_owned()),
        M::AvatarHttp => person.picture = Some("http://pictures.example/ada".to_owned()),
        M::AvatarData => person.picture = Some("data:image/png;base64,AAAA".to_owned()),
        M::SubEmpty => person.id = String::new(),
        M::SubTooLong => person.id = "1".repeat(256),
        _ => {}
    }
}

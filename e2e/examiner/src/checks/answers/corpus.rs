//! The right answers of the broker, and what can be wrong with them.

use contract::{Provider, Subject};
use serde_json::{Value, json};
use url::Url;

use crate::calls::operation::{PROFILE, SESSION, TOKEN};
use crate::checks::faulted_login::answer;
use crate::person::Person;
use crate::random;

/// One thing that is wrong with an answer.
pub(super) struct Wrong {
    /// The change in words, after "with".
    pub(super) name: &'static str,
    status: u16,
    content_type: Option<&'static str>,
    change: Change,
}

type Change = fn(&Value) -> String;

impl Wrong {
    fn body(name: &'static str, change: Change) -> Self {
        Self {
            name,
            status: 200,
            content_type: Some("application/json"),
            change,
        }
    }

    fn status(name: &'static str, status: u16) -> Self {
        Self {
            status,
            ..Self::body(name, Value::to_string)
        }
    }

    fn content_type(name: &'static str, content_type: Option<&'static str>) -> Self {
        Self {
            content_type,
            ..Self::body(name, Value::to_string)
        }
    }

    /// The members of the fault, for a right body.
    pub(super) fn apply(&self, right: &Value) -> Value {
        let headers = match self.content_type {
            Some(content_type) => json!({ "Content-Type": content_type }),
            None => json!({}),
        };
        answer(self.status, &headers, &(self.change)(right))
    }
}

/// Everything that is tried at `operation`.
pub(super) fn wrong_answers(operation: &str) -> Vec<Wrong> {
    let mut all = vec![
        Wrong::status("status 204", 204),
        Wrong::status("status 302", 302),
        Wrong::status("status 403", 403),
        Wrong::status("status 500", 500),
        Wrong::content_type("Content-Type text/html", Some("text/html")),
        Wrong::content_type("no Content-Type", None),
        Wrong::body("an empty body", |_| String::new()),
        Wrong::body("half an object", |right| {
            let text = right.to_string();
            text[..text.len() / 2].to_owned()
        }),
        Wrong::body("null", |_| "null".to_owned()),
        Wrong::body("a list", |right| json!([right]).to_string()),
    ];
    all.extend(match operation {
        SESSION => of_session(),
        TOKEN => of_token(),
        PROFILE => of_profile(),
        _ => of_result(),
    });
    all
}

fn of_session() -> Vec<Wrong> {
    vec![
        Wrong::body("no authorization_url", |right| {
            without(right, "authorization_url")
        }),
        Wrong::body("a list as authorization_url", |right| {
            with(
                right,
                "/authorization_url",
                json!([right["authorization_url"]]),
            )
        }),
        Wrong::body("null as authorization_url", |right| {
            with(right, "/authorization_url", Value::Null)
        }),
    ]
}

fn of_token() -> Vec<Wrong> {
    vec![
        Wrong::body("no access_token", |right| without(right, "access_token")),
        Wrong::body("a number as access_token", |right| {
            with(right, "/access_token", json!(7))
        }),
        Wrong::body("an empty access_token", |right| {
            with(right, "/access_token", json!(""))
        }),
        Wrong::body("the token_type mac", |right| {
            with(right, "/token_type", json!("mac"))
        }),
    ]
}

fn of_profile() -> Vec<Wrong> {
    vec![
        Wrong::body("no subject", |right| without(right, "subject")),
        Wrong::body("null as subject", |right| {
            with(right, "/subject", Value::Null)
        }),
        Wrong::body("a number as subject", |right| {
            with(right, "/subject", json!(7))
        }),
        Wrong::body("an empty subject", |right| {
            with(right, "/subject", json!(""))
        }),
        Wrong::body("an object as name", |right| {
            with(right, "/name", json!({ "full": right["name"] }))
        }),
        Wrong::body("a text as emailVerified", |right| {
            with(right, "/emailVerified", json!("false"))
        }),
    ]
}

fn of_result() -> Vec<Wrong> {
    vec![
        Wrong::body("no subject", |right| {
            json!({ "status": "succeeded", "profile": removed(&right["profile"], "subject") })
                .to_string()
        }),
        Wrong::body("null as subject", |right| {
            with(right, "/profile/subject", Value::Null)
        }),
        Wrong::body("a number as subject", |right| {
            with(right, "/profile/subject", json!(7))
        }),
        Wrong::body("an empty subject", |right| {
            with(right, "/profile/subject", json!(""))
        }),
        Wrong::body("an object as name", |right| {
            with(
                right,
                "/profile/name",
                json!({ "full": right["profile"]["name"] }),
            )
        }),
        Wrong::body("a text as emailVerified", |right| {
            with(right, "/profile/emailVerified", json!("false"))
        }),
        Wrong::body("no profile", |right| without(right, "profile")),
        Wrong::body("an unknown status", |right| {
            with(right, "/status", json!("complete"))
        }),
        Wrong::body("no status", |right| without(right, "status")),
        Wrong::body("the status pending and a profile", |right| {
            with(right, "/status", json!("pending"))
        }),
        Wrong::body("the status failed and a profile", |right| {
            json!({ "status": "failed", "error": "access_denied", "profile": right["profile"] })
                .to_string()
        }),
    ]
}

fn with(right: &Value, pointer: &str, value: Value) -> String {
    let mut changed = right.clone();
    if let Some(member) = changed.pointer_mut(pointer) {
        *member = value;
    }
    changed.to_string()
}

fn without(right: &Value, member: &str) -> String {
    removed(right, member).to_string()
}

fn removed(right: &Value, member: &str) -> Value {
    let mut changed = right.clone();
    if let Some(object) = changed.as_object_mut() {
        object.remove(member);
    }
    changed
}

pub(super) fn session_answer(authorization_url: &str) -> Value {
    json!({ "authorization_url": authorization_url, "expires_in": 600 })
}

pub(super) fn token_answer() -> Value {
    json!({
        "access_token": format!("fsi_{}", random::secret()),
        "token_type": "Bearer",
        "expires_in": 900,
        "scope": "profile",
    })
}

/// The profile that the broker makes of a person.
pub(super) fn profile_of(provider: &str, person: &Person) -> Value {
    let by = match provider {
        "github" => Provider::GitHub,
        _ => Provider::Google,
    };
    json!({
        "subject": Subject::of(by, &person.id),
        "provider": provider,
        "providerSubject": person.id,
        "name": person.name,
        "username": if provider == "github" { json!(person.username) } else { Value::Null },
        "email": person.email,
        "emailVerified": person.is_email_verified,
        "avatarUrl": person.picture,
    })
}

/// Addresses that are like `right`, and that no browser may be sent to.
pub(super) fn wrong_addresses(right: &Url) -> Vec<(&'static str, String)> {
    let path = right.path();
    let host = &right[url::Position::BeforeHost..url::Position::AfterPort];
    let scheme = right.scheme();
    let other_scheme = if scheme == "https" { "http" } else { "https" };
    vec![
        ("another host", format!("{scheme}://signin.invalid{path}")),
        (
            "another port",
            format!(
                "{scheme}://{}:9{path}",
                right.host_str().unwrap_or_default()
            ),
        ),
        ("another scheme", format!("{other_scheme}://{host}{path}")),
        (
            "a script as scheme",
            "javascript:alert(1)//".to_owned() + path,
        ),
        (
            "the broker's address as the beginning of another host",
            format!("{scheme}://{host}.signin.invalid{path}"),
        ),
        (
            "the broker's address as user name",
            format!("{scheme}://{host}@signin.invalid{path}"),
        ),
        (
            "credentials",
            format!("{scheme}://user:password@{host}{path}"),
        ),
        ("a query", format!("{right}?next=1")),
        ("a fragment", format!("{right}#next")),
    ]
}

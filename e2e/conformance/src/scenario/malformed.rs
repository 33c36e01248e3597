//! Requests with one flaw each, as tables: the requirement that the request breaks, and the
//! change that makes a good request of it.

use std::vec;

use agent::backend::Call;
use agent::url::encode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use Change::{Other, Raw, Rename, Set, Text, Without};

use crate::http::{Body, RawRequest};
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::verdict::Stop;

/// The number of logins that a broker may cost which serves malformed requests: each of
/// them consumes one.
pub(super) const MAX_LOGINS: usize = 4;

const JSON: &str = "application/json";

/// A malformed request: the requirement that it breaks, and the change of a good one.
pub(super) type Row = (R, Change);

/// A change of a request whose body is good.
pub(super) enum Change {
    /// Sets the members of this object.
    Set(Value),
    /// Leaves a member out.
    Without(String),
    /// Gives the first member the second name.
    Rename(&'static str, &'static str),
    /// Changes a text.
    Text(&'static str, fn(&str) -> String),
    /// Sends another text than the body, by a media type.
    Raw(&'static str, fn(&Value) -> String),
    /// Makes any other request of the path and the body.
    Other(fn(&str, Value) -> RawRequest),
}

/// Sends a row made of the good `call`. Returns whether it was refused.
pub(super) async fn is_refused(
    run: &mut Run<'_>,
    call: Call,
    (requirement, change): Row,
) -> Result<bool, Stop> {
    let kit_status = kit_status(requirement, call.path);
    let exchange = run.send(change.request(call)).await?;
    Ok(run.check_refusal(requirement, &exchange, kit_status))
}

/// Sends `rows` until one is served. Returns whether none was.
pub(super) async fn are_refused(
    run: &mut Run<'_>,
    call: &Call,
    rows: &mut vec::IntoIter<Row>,
) -> Result<bool, Stop> {
    for row in rows {
        if !is_refused(run, call.clone(), row).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The status of this kit's refusal.
fn kit_status(requirement: R, path: &str) -> u16 {
    match requirement {
        R::BodyMediaType => 415,
        R::ClientRecognised if path != "/v1/login/result" => 401,
        _ => 400,
    }
}

impl Change {
    /// The request that the good `call` becomes.
    fn request(&self, call: Call) -> RawRequest {
        let path = call.path;
        let mut body = call.body.unwrap_or_default();
        match self {
            Set(members) => {
                for (name, value) in members.as_object().into_iter().flatten() {
                    body[name] = value.clone();
                }
            }
            Without(name) => drop(take(&mut body, name)),
            Rename(name, to) => body[*to] = take(&mut body, name),
            Text(name, change) => body[*name] = change(text(&body[*name])).into(),
            Raw(media_type, text) => {
                return RawRequest {
                    body: Body::Raw(media_type, text(&body)),
                    ..RawRequest::post(path, Value::Null)
                };
            }
            Other(request) => return request(path, body),
        }
        RawRequest::post(path, body)
    }
}

fn take(body: &mut Value, name: &str) -> Value {
    let taken = body.as_object_mut().and_then(|it| it.remove(name));
    taken.unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The changes of any request with credentials and a callback, of which `call` is a good
/// one.
pub(super) fn of_any_request(call: &Call) -> Vec<Row> {
    let mut rows = Vec::new();
    let body = call.body.as_ref().and_then(Value::as_object);
    let names = body.into_iter().flat_map(|it| it.keys());
    let no_texts = [json!(null), json!(12), json!(["x"]), json!({"x": "x"})];
    for (name, no_text) in names.zip(no_texts.iter().cycle()) {
        rows.push((R::BodyMissingField, Without(name.clone())));
        rows.push((R::BodyFieldType, Set(json!({ name: no_text }))));
    }
    rows.extend([
        (R::BodyFieldNames, Rename("client_id", "Client_Id")),
        (R::BodyFieldNames, Rename("client_id", "clientId")),
        (R::BodyUnknownField, Set(json!({ "hint": "x" }))),
        (R::BodyJson, Raw(JSON, |body| json!([body]).to_string())),
        (
            R::BodyJson,
            Raw(JSON, |body| without_end(&body.to_string())),
        ),
        (R::BodyJson, Raw(JSON, |_| String::new())),
        (R::BodyMediaType, Raw("text/plain", Value::to_string)),
        (R::BodyDuplicateField, Raw(JSON, with_client_id_twice)),
        (R::RequestSecretInUrl, Other(with_secret_in_url)),
        (R::RequestSecretBesideBody, Other(with_secret_in_url_too)),
        (R::ClientInBody, Other(with_basic_authentication)),
        (R::ClientIdLength, Text("client_id", |_| "x".repeat(101))),
    ]);
    rows.extend(texts(
        R::ClientSecretLength,
        "client_secret",
        [|_| String::new(), |_| "x".repeat(201)],
    ));
    rows.push(set(R::ClientRecognised, "client_id", "an-unknown-client"));
    rows.extend(texts(
        R::ClientRecognised,
        "client_secret",
        // Longer by one is within the limit, too.
        [|_| "x".repeat(43), |secret| format!("{secret}x")],
    ));
    rows.extend(texts(
        R::RedirectUriShape,
        "redirect_uri",
        [
            |callback| format!("{callback}?x=1"),
            |callback| format!("{callback}#x"),
            |callback| callback.replacen("://", "://user:word@", 1),
            |_| "not a url".to_owned(),
            |callback| format!("{callback}/{}", "x".repeat(2048)),
        ],
    ));
    rows.extend(texts(
        R::RedirectUriRegistered,
        "redirect_uri",
        [
            |callback| format!("{callback}/"),
            |callback| format!("{callback}/below"),
            |_| "https://app.example/callback".to_owned(),
        ],
    ));
    rows
}

/// The changes of a request with a session key.
pub(super) fn of_session_key() -> [Row; 4] {
    texts(
        R::SessionKeyPattern,
        "session_key",
        [
            |key| key[1..].to_owned(),
            |key| format!("{key}="),
            |key| format!("{}.", &key[1..]),
            |_| String::new(),
        ],
    )
}

/// Several changes of one text.
pub(super) fn texts<const N: usize>(
    requirement: R,
    name: &'static str,
    changes: [fn(&str) -> String; N],
) -> [Row; N] {
    changes.map(|change| (requirement, Text(name, change)))
}

/// A change that sets one member.
pub(super) fn set(requirement: R, name: &str, value: &str) -> Row {
    (requirement, Set(json!({ name: value })))
}

fn without_end(text: &str) -> String {
    text[..text.len() - 1].to_owned()
}

fn with_client_id_twice(body: &Value) -> String {
    let text = body.to_string();
    format!("{{\"client_id\":{},{}", body["client_id"], &text[1..])
}

/// The secret in the URL, instead of in the body.
fn with_secret_in_url(path: &str, mut body: Value) -> RawRequest {
    let secret = take(&mut body, "client_secret");
    let query = encode(&[("client_secret", text(&secret))]);
    RawRequest::post(&format!("{path}?{query}"), body)
}

/// The secret in the URL, beside the one in the body.
fn with_secret_in_url_too(path: &str, body: Value) -> RawRequest {
    let RawRequest { path, .. } = with_secret_in_url(path, body.clone());
    RawRequest::post(&path, body)
}

fn with_basic_authentication(path: &str, mut body: Value) -> RawRequest {
    let (id, secret) = (
        take(&mut body, "client_id"),
        take(&mut body, "client_secret"),
    );
    let basic = STANDARD.encode(format!("{}:{}", text(&id), text(&secret)));
    RawRequest::post(path, body).with_authorization(format!("Basic {basic}"))
}

/// A change that names the project's second callback, if it has one.
pub(super) fn with_second_callback(run: &mut Run<'_>, requirement: R) -> Option<Row> {
    let second = run.plan.project.second_callback.as_deref();
    let reason = "needs a second registered callback of the project";
    let second = run.or_skip(requirement, second, reason)?;
    Some(set(requirement, "redirect_uri", second))
}

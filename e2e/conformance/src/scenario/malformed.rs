//! Requests with one flaw each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use crate::http::{Body, RawRequest};
use crate::project::TestProject;
use crate::requirement::Requirement as R;

/// A change that makes a good request malformed.
pub(super) struct MalformedRequest {
    /// The requirement that the request breaks.
    pub(super) requirement: R,
    /// The status of this kit's refusal.
    pub(super) kit_status: u16,
    change: Box<dyn Fn(Value) -> RawRequest + Send>,
}

impl MalformedRequest {
    /// Changes the body.
    pub(super) fn body(
        requirement: R,
        path: &'static str,
        change: impl Fn(&mut Value) + Send + 'static,
    ) -> Self {
        Self::request(requirement, move |mut body| {
            change(&mut body);
            RawRequest::post(path, body)
        })
    }

    /// Makes another request of the good body.
    pub(super) fn request(
        requirement: R,
        change: impl Fn(Value) -> RawRequest + Send + 'static,
    ) -> Self {
        Self {
            requirement,
            kit_status: 400,
            change: Box::new(change),
        }
    }

    /// Sets one field.
    pub(super) fn field(
        requirement: R,
        path: &'static str,
        field: &'static str,
        text: impl Into<String>,
    ) -> Self {
        let text = text.into();
        Self::body(requirement, path, move |body| {
            body[field] = text.as_str().into();
        })
    }

    pub(super) fn refused_with(self, kit_status: u16) -> Self {
        Self { kit_status, ..self }
    }

    /// The request that the good `body` becomes.
    pub(super) fn made_from(&self, body: Value) -> RawRequest {
        (self.change)(body)
    }
}

/// The malformed variants of a request with credentials and a callback, whose
/// `fields` these are.
pub(super) fn any_request(
    path: &'static str,
    fields: &[&'static str],
    project: &TestProject,
    unrecognised: u16,
) -> Vec<MalformedRequest> {
    let mut all = Vec::new();
    for (field, value) in fields
        .iter()
        .copied()
        .zip(non_strings().into_iter().cycle())
    {
        all.push(MalformedRequest::body(
            R::BodyMissingField,
            path,
            move |body| {
                take(body, field);
            },
        ));
        all.push(MalformedRequest::body(
            R::BodyFieldType,
            path,
            move |body| {
                body[field] = value.clone();
            },
        ));
    }
    all.extend(other_field_names(path));
    all.extend(no_json_object(path));
    all.extend(credentials_elsewhere(path));
    all.extend(unknown_credentials(path, unrecognised));
    all.extend(other_callbacks(path, &project.callback));
    all
}

fn non_strings() -> [Value; 4] {
    [json!(null), json!(12), json!(["x"]), json!({"x": "x"})]
}

fn take(body: &mut Value, field: &str) -> Option<Value> {
    body.as_object_mut()?.remove(field)
}

fn other_field_names(path: &'static str) -> [MalformedRequest; 3] {
    let renamed = |to: &'static str| {
        move |body: &mut Value| {
            let id = take(body, "client_id").unwrap_or_default();
            body[to] = id;
        }
    };
    let add = |body: &mut Value| body["hint"] = "x".into();
    [
        MalformedRequest::body(R::BodyFieldNames, path, renamed("Client_Id")),
        MalformedRequest::body(R::BodyFieldNames, path, renamed("clientId")),
        MalformedRequest::body(R::BodyUnknownField, path, add),
    ]
}

fn no_json_object(path: &'static str) -> [MalformedRequest; 5] {
    let raw = move |requirement, media_type: &'static str, text: fn(Value) -> String| {
        MalformedRequest::request(requirement, move |body| RawRequest {
            body: Body::Raw(media_type, text(body)),
            ..RawRequest::post(path, Value::Null)
        })
    };
    let json = "application/json";
    [
        raw(R::BodyJson, json, |body| json!([body]).to_string()),
        raw(R::BodyJson, json, |body| {
            let mut text = body.to_string();
            text.pop();
            text
        }),
        raw(R::BodyJson, json, |_| String::new()),
        raw(R::BodyMediaType, "text/plain", |body| body.to_string()).refused_with(415),
        raw(R::BodyDuplicateField, json, |body| {
            let text = body.to_string();
            let id = &body["client_id"];
            format!("{{\"client_id\":{id},{}", &text[1..])
        }),
    ]
}

/// The secret in the URL, instead of in the body or beside it; both credentials in a
/// header.
fn credentials_elsewhere(path: &'static str) -> [MalformedRequest; 3] {
    let with_query = move |secret: &Value, body| {
        let secret = secret.as_str().unwrap_or_default();
        let query = Serializer::new(String::new())
            .append_pair("client_secret", secret)
            .finish();
        RawRequest {
            path: format!("{path}?{query}"),
            ..RawRequest::post(path, body)
        }
    };
    [
        MalformedRequest::request(R::RequestSecretInUrl, move |mut body| {
            let secret = take(&mut body, "client_secret").unwrap_or_default();
            with_query(&secret, body)
        }),
        MalformedRequest::request(R::RequestSecretBesideBody, move |body| {
            with_query(&body["client_secret"].clone(), body)
        }),
        MalformedRequest::request(R::ClientInBody, move |mut body| {
            let mut text = |field| {
                let value = take(&mut body, field).unwrap_or_default();
                value.as_str().unwrap_or_default().to_owned()
            };
            let pair = format!("{}:{}", text("client_id"), text("client_secret"));
            let basic = STANDARD.encode(pair);
            RawRequest::post(path, body).with_authorization(format!("Basic {basic}"))
        }),
    ]
}

fn unknown_credentials(path: &'static str, unrecognised: u16) -> Vec<MalformedRequest> {
    let put =
        |requirement, field, text: String| MalformedRequest::field(requirement, path, field, text);
    let with_longer_secret = |body: &mut Value| {
        let secret = body["client_secret"].as_str().unwrap_or_default();
        // Longer by one, and within the limit.
        body["client_secret"] = format!("{secret}x").into();
    };
    let unknown = "an-unknown-client".to_owned();
    vec![
        put(R::ClientIdLength, "client_id", "x".repeat(101)),
        put(R::ClientSecretLength, "client_secret", String::new()),
        put(R::ClientSecretLength, "client_secret", "x".repeat(201)),
        put(R::ClientRecognised, "client_id", unknown).refused_with(unrecognised),
        put(R::ClientRecognised, "client_secret", "x".repeat(43)).refused_with(unrecognised),
        MalformedRequest::body(R::ClientRecognised, path, with_longer_secret)
            .refused_with(unrecognised),
    ]
}

/// Callbacks of another shape, and callbacks that are not registered.
fn other_callbacks(path: &'static str, callback: &str) -> Vec<MalformedRequest> {
    let put = |requirement, text: String| {
        MalformedRequest::field(requirement, path, "redirect_uri", text)
    };
    let with_user = callback.replacen("://", "://user:word@", 1);
    let too_long = format!("{callback}/{}", "x".repeat(2048));
    let elsewhere = "https://app.example/callback".to_owned();
    vec![
        put(R::RedirectUriShape, format!("{callback}?x=1")),
        put(R::RedirectUriShape, format!("{callback}#x")),
        put(R::RedirectUriShape, with_user),
        put(R::RedirectUriShape, "not a url".to_owned()),
        put(R::RedirectUriShape, too_long),
        put(R::RedirectUriRegistered, format!("{callback}/")),
        put(R::RedirectUriRegistered, format!("{callback}/below")),
        put(R::RedirectUriRegistered, elsewhere),
    ]
}

/// Keys that are too short, too long, or of other characters.
pub(super) fn session_keys(path: &'static str) -> [MalformedRequest; 4] {
    let changed = move |by: fn(&str) -> String| {
        MalformedRequest::body(R::SessionKeyPattern, path, move |body| {
            let key = by(body["session_key"].as_str().unwrap_or_default());
            body["session_key"] = key.into();
        })
    };
    [
        changed(|key| key[1..].to_owned()),
        changed(|key| format!("{key}=")),
        changed(|key| format!("{}.", &key[1..])),
        changed(|_| String::new()),
    ]
}

//! Requests that are right but for one thing.

use serde_json::{Value, json};

use crate::http::{Body, Call};
use crate::plan::Project;
use crate::requirement::Requirement as R;

/// One thing that is wrong with a request.
pub(super) struct Bent {
    /// What it breaks.
    pub(super) requirement: R,
    /// How our broker answers it.
    pub(super) our_status: u16,
    bend: Box<dyn Fn(Value) -> Call + Send>,
}

impl Bent {
    /// Bends a request's body; the rest of it is right.
    pub(super) fn body(
        requirement: R,
        path: &'static str,
        bend: impl Fn(&mut Value) + Send + 'static,
    ) -> Self {
        Self::call(requirement, move |mut body| {
            bend(&mut body);
            Call::post(path, body)
        })
    }

    /// Makes something else of a request.
    pub(super) fn call(requirement: R, bend: impl Fn(Value) -> Call + Send + 'static) -> Self {
        Self {
            requirement,
            our_status: 400,
            bend: Box::new(bend),
        }
    }

    /// Puts one text in a field.
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

    pub(super) fn answered(self, our_status: u16) -> Self {
        Self { our_status, ..self }
    }

    /// The request that `right` becomes.
    pub(super) fn apply(&self, right: Value) -> Call {
        (self.bend)(right)
    }
}

/// What can be wrong with every request that carries credentials and a callback;
/// `fields` are all of it.
pub(super) fn any_request(
    path: &'static str,
    fields: &[&'static str],
    project: &Project,
    unrecognised: u16,
) -> Vec<Bent> {
    let mut bent = Vec::new();
    for (field, wrong) in fields
        .iter()
        .copied()
        .zip(not_strings().into_iter().cycle())
    {
        bent.push(Bent::body(R::BodyMissingField, path, move |body| {
            take(body, field);
        }));
        bent.push(Bent::body(R::BodyFieldType, path, move |body| {
            body[field] = wrong.clone();
        }));
    }
    bent.extend(spelled_otherwise(path));
    bent.extend(not_a_json_object(path));
    bent.extend(credentials_elsewhere(path));
    bent.extend(wrong_credentials(path, unrecognised));
    bent.extend(wrong_callbacks(path, &project.callback));
    bent
}

fn not_strings() -> [Value; 4] {
    [json!(null), json!(12), json!(["x"]), json!({"x": "x"})]
}

fn take(body: &mut Value, field: &str) -> Option<Value> {
    body.as_object_mut()?.remove(field)
}

fn spelled_otherwise(path: &'static str) -> [Bent; 3] {
    let renamed = |to: &'static str| {
        move |body: &mut Value| {
            let id = take(body, "client_id").unwrap_or_default();
            body[to] = id;
        }
    };
    [
        Bent::body(R::BodyFieldNames, path, renamed("Client_Id")),
        Bent::body(R::BodyFieldNames, path, renamed("clientId")),
        Bent::body(R::BodyUnknownField, path, |body| body["hint"] = "x".into()),
    ]
}

fn not_a_json_object(path: &'static str) -> [Bent; 5] {
    let raw = move |requirement, media_type: &'static str, text: fn(Value) -> String| {
        Bent::call(requirement, move |body| Call {
            body: Body::Raw(media_type, text(body)),
            ..Call::post(path, Value::Null)
        })
    };
    [
        raw(R::BodyJson, "application/json", |body| {
            json!([body]).to_string()
        }),
        raw(R::BodyJson, "application/json", |body| {
            let mut text = body.to_string();
            text.pop();
            text
        }),
        raw(R::BodyJson, "application/json", |_| String::new()),
        raw(R::BodyMediaType, "text/plain", |body| body.to_string()).answered(415),
        raw(R::BodyDuplicateField, "application/json", |body| {
            let text = body.to_string();
            let id = &body["client_id"];
            format!("{{\"client_id\":{id},{}", &text[1..])
        }),
    ]
}

/// The secret in the URL instead of the body, or besides; both credentials in a
/// header instead.
fn credentials_elsewhere(path: &'static str) -> [Bent; 3] {
    let with_query = move |secret: &Value, body| {
        let secret = secret.as_str().unwrap_or_default();
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_secret", secret)
            .finish();
        Call {
            path: format!("{path}?{query}"),
            ..Call::post(path, body)
        }
    };
    [
        Bent::call(R::RequestSecretInUrl, move |mut body| {
            let secret = take(&mut body, "client_secret").unwrap_or_default();
            with_query(&secret, body)
        }),
        Bent::call(R::SecretBesideBody, move |body| {
            with_query(&body["client_secret"].clone(), body)
        }),
        Bent::call(R::ClientInBody, move |mut body| {
            let mut text = |field| {
                let value = take(&mut body, field).unwrap_or_default();
                value.as_str().unwrap_or_default().to_owned()
            };
            let pair = format!("{}:{}", text("client_id"), text("client_secret"));
            let basic = {
                use base64::Engine as _;
                base64::engine::general_purpose::STANDARD.encode(pair)
            };
            Call::post(path, body).with_authorization(format!("Basic {basic}"))
        }),
    ]
}

fn wrong_credentials(path: &'static str, unrecognised: u16) -> Vec<Bent> {
    let longest = |length| "x".repeat(length);
    vec![
        Bent::field(R::ClientIdLength, path, "client_id", longest(101)),
        Bent::field(R::ClientSecretLength, path, "client_secret", ""),
        Bent::field(R::ClientSecretLength, path, "client_secret", longest(201)),
        Bent::field(R::ClientRecognised, path, "client_id", "nobody-we-know")
            .answered(unrecognised),
        Bent::field(R::ClientRecognised, path, "client_secret", longest(43)).answered(unrecognised),
        Bent::body(R::ClientRecognised, path, |body| {
            let secret = body["client_secret"].as_str().unwrap_or_default();
            // Longer by one, and within the limit.
            body["client_secret"] = format!("{secret}x").into();
        })
        .answered(unrecognised),
    ]
}

/// Callbacks that are none, and ones that are not registered.
fn wrong_callbacks(path: &'static str, callback: &str) -> Vec<Bent> {
    let put = |requirement, text: String| Bent::field(requirement, path, "redirect_uri", text);
    let with_user = callback.replacen("://", "://user:word@", 1);
    vec![
        put(R::RedirectUriShape, format!("{callback}?x=1")),
        put(R::RedirectUriShape, format!("{callback}#x")),
        put(R::RedirectUriShape, with_user),
        put(R::RedirectUriShape, "not a url".to_owned()),
        put(
            R::RedirectUriShape,
            format!("{callback}/{}", "x".repeat(2048)),
        ),
        put(R::RedirectUriRegistered, format!("{callback}/")),
        put(R::RedirectUriRegistered, format!("{callback}/below")),
        put(
            R::RedirectUriRegistered,
            "https://app.example/callback".to_owned(),
        ),
    ]
}

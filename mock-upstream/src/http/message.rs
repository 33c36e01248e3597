//! The request to an endpoint, and its response.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;
use url::form_urlencoded;
use wiremock::http::HeaderMap;

/// A request with its query and body parsed.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The query as it was sent, secrets included.
    pub(crate) raw_query: String,
    pub(crate) query: Params,
    /// The fields of a form-encoded body; none of any other body.
    pub(crate) form: Params,
    json: Params,
    headers: HeaderMap,
}

const DECISIVE_HEADERS: [&str; 3] = ["authorization", "content-type", "x-github-api-version"];

impl Request {
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// The fields of a form, or the strings of a JSON object; none of any other body.
    pub(crate) fn form_or_json(&self) -> &Params {
        match self.json.0.is_empty() {
            true => &self.form,
            false => &self.json,
        }
    }

    /// The value of a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The name of a header that decides about the response and is there twice, or is not
    /// text: as an absent one it would let another credential or format decide.
    pub(crate) fn unclear_header(&self) -> Option<&'static str> {
        DECISIVE_HEADERS.into_iter().find(|name| {
            let values: Vec<_> = self.headers.get_all(*name).iter().collect();
            values.len() > 1 || values.iter().any(|value| value.to_str().is_err())
        })
    }

    /// The value of a cookie. Another cookie, which any app of this host may have set, need
    /// not be text.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let headers = self.headers.get_all("cookie").iter();
        let mut pairs = headers.flat_map(|it| it.as_bytes().split(|byte| *byte == b';'));
        let value = pairs.find_map(|pair| {
            let pair = pair.trim_ascii();
            pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
        })?;
        str::from_utf8(value).ok()
    }

    /// The part of the `Authorization` header that follows `scheme`.
    pub(crate) fn credentials(&self, scheme: &str) -> Option<&str> {
        let header = self.header("authorization")?;
        let (given, credentials) = header.split_once(' ').unwrap_or((header, ""));
        given
            .eq_ignore_ascii_case(scheme)
            .then(|| credentials.trim())
    }

    /// The client id and secret of HTTP Basic, where each is form-encoded (RFC 6749,
    /// section 2.3.1). Those that cannot be decoded are of no client, whatever the body
    /// says.
    pub(crate) fn basic_credentials(&self) -> Option<(String, String)> {
        let encoded = self.credentials("basic")?;
        Some(decoded_credentials(encoded).unwrap_or_default())
    }
}

fn decoded_credentials(encoded: &str) -> Option<(String, String)> {
    let decoded = STANDARD.decode(encoded).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (client_id, client_secret) = decoded.split_once(':')?;
    Some((form_decoded(client_id), form_decoded(client_secret)))
}

fn form_decoded(text: &str) -> String {
    let pair = format!("value={text}");
    let params = Params::parse(pair.as_bytes());
    params.get("value").unwrap_or_default().to_owned()
}

impl From<&wiremock::Request> for Request {
    fn from(request: &wiremock::Request) -> Self {
        let raw_query = request.url.query().unwrap_or_default();
        let body_of = |wanted| match media_type(&request.headers) == wanted {
            true => request.body.as_slice(),
            false => &[],
        };
        Self {
            method: request.method.to_string(),
            path: request.url.path().to_owned(),
            raw_query: raw_query.to_owned(),
            query: Params::parse(raw_query.as_bytes()),
            form: Params::parse(body_of("application/x-www-form-urlencoded")),
            json: Params::parse_json(body_of("application/json")),
            headers: request.headers.clone(),
        }
    }
}

fn media_type(headers: &HeaderMap) -> &str {
    let content_type = headers.get("content-type").map(|it| it.to_str());
    let content_type = content_type.and_then(Result::ok).unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim()
}

/// The parameters of a query, a form or a JSON object.
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// The string members of an object; none of any other JSON.
    fn parse_json(body: &[u8]) -> Self {
        let Ok(Value::Object(members)) = serde_json::from_slice(body) else {
            return Self(Vec::new());
        };
        let texts = members.into_iter().filter_map(|(name, value)| match value {
            Value::String(text) => Some((name, text)),
            _ => None,
        });
        Self(texts.collect())
    }

    /// The last value of a parameter. An empty one counts as absent (RFC 6749,
    /// section 3.1).
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().rfind(|(known, _)| known == name)?;
        (!value.is_empty()).then_some(value)
    }

    /// The names and values, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether any parameter occurs more than once.
    pub(crate) fn has_duplicates(&self) -> bool {
        let mut names = HashSet::new();
        !self.iter().all(|(name, _)| names.insert(name))
    }
}

/// A status, headers and a body, with the way in which the client receives them.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) delivery: Delivery,
}

/// The way in which the client receives a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Completely.
    Whole,
    /// Not at all; the connection stays open.
    Silence,
    /// Not at all; the connection is closed.
    Closed,
    /// Status and headers; then the connection is reset.
    Reset,
    /// Half of the body; then the connection is closed.
    Half,
    /// Status and headers; then single bytes without an end.
    Drip,
    /// Status and headers; then 50 MB.
    Flood,
}

impl Delivery {
    /// The incomplete deliveries, each with its value of the header for the transport.
    const FAULTY: [(Self, &str); 6] = [
        (Self::Silence, "silence"),
        (Self::Closed, "closed"),
        (Self::Reset, "reset"),
        (Self::Half, "half"),
        (Self::Drip, "drip"),
        (Self::Flood, "flood"),
    ];

    /// The value of the header for the transport; none for a complete response.
    pub(super) fn header_value(self) -> Option<&'static str> {
        let named = Self::FAULTY.into_iter().find(|(known, _)| *known == self);
        named.map(|(_, name)| name)
    }

    /// The delivery that such a header names.
    pub(super) fn of_header(value: &str) -> Option<Self> {
        let named = Self::FAULTY.into_iter().find(|(_, name)| *name == value);
        named.map(|(delivery, _)| delivery)
    }
}

impl Response {
    pub(crate) fn html(status: u16, page: String) -> Self {
        Self::of_type("text/html; charset=utf-8", status, page)
            .with_header("cache-control", "no-store")
            // No `form-action`: it would block the redirects that follow the form.
            .with_header(
                "content-security-policy",
                "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
            )
    }

    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        let body = serde_json::to_string(body).expect("our own types become JSON");
        Self::of_type("application/json; charset=utf-8", status, body)
    }

    pub(crate) fn of_type(content_type: &str, status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::empty(status)
            .with_header("content-type", content_type)
            .with_body(body)
    }

    /// With 302 for a browser's own request or 303 for a form, it follows with a GET; with 307
    /// a client repeats its POST.
    pub(crate) fn redirect(status: u16, location: impl Into<String>) -> Self {
        Self::empty(status)
            .with_header("location", location)
            .with_header("cache-control", "no-store")
    }

    fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            delivery: Delivery::Whole,
        }
    }

    /// The response with one more header.
    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The response with this header, if there is a value.
    pub(crate) fn with_optional_header(
        self,
        name: &'static str,
        value: Option<impl Into<String>>,
    ) -> Self {
        match value {
            Some(value) => self.with_header(name, value),
            None => self,
        }
    }

    /// The response with this header, unless it has one of the same name.
    pub(crate) fn with_default_header(self, name: &'static str, value: impl Into<String>) -> Self {
        match self.headers.iter().any(|(known, _)| *known == name) {
            true => self,
            false => self.with_header(name, value),
        }
    }

    /// The response with another content type.
    pub(crate) fn with_content_type(mut self, content_type: &str) -> Self {
        self.headers.retain(|(name, _)| *name != "content-type");
        self.with_header("content-type", content_type)
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The status, if the client receives one.
    pub(crate) fn visible_status(&self) -> Option<u16> {
        match self.delivery {
            Delivery::Silence | Delivery::Closed => None,
            _ => Some(self.status),
        }
    }
}

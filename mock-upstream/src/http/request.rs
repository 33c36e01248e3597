//! The request to an endpoint.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use url::form_urlencoded;
use wiremock::http::HeaderMap;

/// A request with its query and body parsed.
pub(crate) struct Request {
    method: String,
    path: String,
    raw_query: String,
    query: Params,
    form: Params,
    json: Params,
    headers: HeaderMap,
}

const DECISIVE_HEADERS: [&str; 3] = ["authorization", "content-type", "x-github-api-version"];

impl Request {
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The query as it was sent, secrets included.
    pub(crate) fn raw_query(&self) -> &str {
        &self.raw_query
    }

    pub(crate) fn query(&self) -> &Params {
        &self.query
    }

    /// The fields of a form-encoded body; none of any other body.
    pub(crate) fn form(&self) -> &Params {
        &self.form
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

//! A request, as a dialect reads it.

use url::form_urlencoded;
use wiremock::Request;
use wiremock::http::HeaderMap;

/// One request with its query and form taken apart.
pub(crate) struct Call {
    method: String,
    path: String,
    raw_query: String,
    query: Params,
    form: Params,
    headers: HeaderMap,
}

impl Call {
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The query as it came; it may hold secrets.
    pub(crate) fn raw_query(&self) -> &str {
        &self.raw_query
    }

    pub(crate) fn query(&self) -> &Params {
        &self.query
    }

    /// The fields of a form-encoded body; none for any other body.
    pub(crate) fn form(&self) -> &Params {
        &self.form
    }

    /// A header's value, when it came and is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// What follows `scheme` in the `Authorization` header.
    pub(crate) fn credentials(&self, scheme: &str) -> Option<&str> {
        let (given, credentials) = self.header("authorization")?.split_once(' ')?;
        given
            .eq_ignore_ascii_case(scheme)
            .then(|| credentials.trim())
    }
}

impl From<&Request> for Call {
    fn from(request: &Request) -> Self {
        let raw_query = request.url.query().unwrap_or_default();
        Self {
            method: request.method.to_string(),
            path: request.url.path().to_owned(),
            raw_query: raw_query.to_owned(),
            query: Params::parse(raw_query.as_bytes()),
            form: form_of(request),
            headers: request.headers.clone(),
        }
    }
}

fn form_of(request: &Request) -> Params {
    let content_type = request.headers.get("content-type");
    let media_type = content_type
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    match media_type.trim() {
        "application/x-www-form-urlencoded" => Params::parse(&request.body),
        _ => Params::parse(b""),
    }
}

/// The parameters of a query or a form.
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// A parameter's last value. An empty one counts as absent (RFC 6749,
    /// section 3.1).
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().rfind(|(known, _)| known == name)?;
        (!value.is_empty()).then_some(value)
    }

    /// Whether any parameter came more than once.
    pub(crate) fn has_doubles(&self) -> bool {
        let is_double = |(index, (name, _)): (usize, &(String, String))| {
            self.0[..index].iter().any(|(earlier, _)| earlier == name)
        };
        self.0.iter().enumerate().any(is_double)
    }
}

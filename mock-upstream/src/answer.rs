//! An answer, as a dialect gives it.

use serde::Serialize;

/// What happens to a request.
pub(crate) enum Answer {
    /// It is answered.
    Reply(Reply),
    /// The connection is closed without a byte.
    Cut,
}

/// A status, headers and a body.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn html(status: u16, page: String) -> Self {
        Self::of_type("text/html; charset=utf-8", status, page)
            .with("cache-control", "no-store")
            // No `form-action`: it would stop the redirects that follow the form.
            .with(
                "content-security-policy",
                "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
            )
    }

    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        let body = serde_json::to_string(body).expect("our own types become JSON");
        Self::raw_json(status, body)
    }

    /// What claims to be JSON, whatever it is.
    pub(crate) fn raw_json(status: u16, body: String) -> Self {
        Self::of_type("application/json; charset=utf-8", status, body)
    }

    pub(crate) fn of_type(content_type: &str, status: u16, body: String) -> Self {
        Self::Reply(Reply {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            body,
        })
    }

    /// 302: the answer to the browser's own request.
    pub(crate) fn found(location: String) -> Self {
        Self::redirect(302, location)
    }

    /// 303: the answer to a form, so that the browser goes on with a GET.
    pub(crate) fn see_other(location: String) -> Self {
        Self::redirect(303, location)
    }

    fn redirect(status: u16, location: String) -> Self {
        Self::Reply(Reply {
            status,
            headers: vec![("location", location)],
            body: String::new(),
        })
        .with("cache-control", "no-store")
    }

    /// The answer with one more header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Reply(reply) = &mut self {
            reply.headers.push((name, value.into()));
        }
        self
    }

    /// The status, if anything is sent at all.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Reply(reply) => Some(reply.status),
            Self::Cut => None,
        }
    }
}

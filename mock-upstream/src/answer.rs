//! An answer, as a dialect gives it.

use serde::Serialize;

/// A status, headers and a body, and how they get to the client.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) delivery: Delivery,
}

/// How an answer gets to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// As it should.
    Whole,
    /// Not a byte of it, while the connection stays open.
    Silence,
    /// Not a byte of it: the connection is closed.
    Closed,
    /// Status and headers; then the connection is reset.
    Reset,
    /// Half of the body; then the connection is closed.
    Half,
    /// Status and headers; then a byte now and again, without an end.
    Drip,
    /// Status and headers; then 50 MB.
    Flood,
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
    pub(crate) fn raw_json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::of_type("application/json; charset=utf-8", status, body)
    }

    pub(crate) fn of_type(content_type: &str, status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::empty(status)
            .with("content-type", content_type)
            .with_body(body)
    }

    /// 302: the answer to the browser's own request.
    pub(crate) fn found(location: impl Into<String>) -> Self {
        Self::redirect(302, location)
    }

    /// 303: the answer to a form, so that the browser goes on with a GET.
    pub(crate) fn see_other(location: impl Into<String>) -> Self {
        Self::redirect(303, location)
    }

    pub(crate) fn redirect(status: u16, location: impl Into<String>) -> Self {
        Self::empty(status)
            .with("location", location)
            .with("cache-control", "no-store")
    }

    fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            delivery: Delivery::Whole,
        }
    }

    /// The answer with one more header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The answer with a header that it may have already.
    pub(crate) fn with_default(self, name: &'static str, value: impl Into<String>) -> Self {
        match self.headers.iter().any(|(known, _)| *known == name) {
            true => self,
            false => self.with(name, value),
        }
    }

    /// The answer under another content type.
    pub(crate) fn called(mut self, content_type: &str) -> Self {
        self.headers.retain(|(name, _)| *name != "content-type");
        self.with("content-type", content_type)
    }

    /// The answer with another body.
    pub(crate) fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// The answer, spoiled on its way.
    pub(crate) fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// The status that the client sees, if it sees any.
    pub(crate) fn visible_status(&self) -> Option<u16> {
        match self.delivery {
            Delivery::Silence | Delivery::Closed => None,
            _ => Some(self.status),
        }
    }
}

//! The response of an endpoint.

use serde::Serialize;

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

    /// 302, for the browser's own request.
    pub(crate) fn found(location: impl Into<String>) -> Self {
        Self::redirect(302, location)
    }

    /// 303, for a form: the browser follows with a GET.
    pub(crate) fn see_other(location: impl Into<String>) -> Self {
        Self::redirect(303, location)
    }

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

    /// The response with this cookie, if there is one.
    pub(crate) fn with_cookie(self, set_cookie: Option<String>) -> Self {
        match set_cookie {
            Some(cookie) => self.with_header("set-cookie", cookie),
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

    pub(crate) fn with_delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
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

//! A generated request body, and its bytes.

use std::fmt::Write as _;

use serde_json::Value;

/// One of the three operations that take a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Session,
    Result,
    Token,
}

/// The type of a field in the specification's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ClientId { min: usize },
    ClientSecret,
    SessionKey,
    Provider,
    RedirectUri,
    GrantType,
    Code,
    CodeVerifier,
}

impl Endpoint {
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Session => "/v1/login/session",
            Self::Result => "/v1/login/result",
            Self::Token => "/v1/token",
        }
    }

    pub(super) fn schema(self) -> &'static str {
        match self {
            Self::Session => "LoginSessionRequest",
            Self::Result => "LoginResultRequest",
            Self::Token => "TokenRequest",
        }
    }

    /// The fields of its table, each of them required.
    pub(super) fn fields(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Session => &[
                ("client_id", Kind::ClientId { min: 1 }),
                ("client_secret", Kind::ClientSecret),
                ("session_key", Kind::SessionKey),
                ("provider", Kind::Provider),
                ("redirect_uri", Kind::RedirectUri),
            ],
            Self::Result => &[
                ("client_id", Kind::ClientId { min: 1 }),
                ("client_secret", Kind::ClientSecret),
                ("session_key", Kind::SessionKey),
                ("redirect_uri", Kind::RedirectUri),
            ],
            Self::Token => &[
                ("grant_type", Kind::GrantType),
                ("client_id", Kind::ClientId { min: 0 }),
                ("client_secret", Kind::ClientSecret),
                ("code", Kind::Code),
                ("redirect_uri", Kind::RedirectUri),
                ("code_verifier", Kind::CodeVerifier),
            ],
        }
    }
}

/// A body for one endpoint.
#[derive(Debug, Clone)]
pub(super) struct Body {
    pub(super) endpoint: Endpoint,
    pub(super) shape: Shape,
}

#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// Members in the order in which they are sent; a name may come twice.
    Object(Vec<(String, Value)>, Spelling),
    /// JSON, but no object.
    Other(Value),
    /// No JSON.
    Broken(String),
}

/// The spelling of an object, which must not matter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spelling {
    Plain,
    /// Every character of every string as `\uXXXX`.
    Escaped,
    /// With space wherever JSON permits it.
    Spaced,
}

impl Body {
    /// The bytes of the request, which are text: HTTP is not what is asked about.
    pub(super) fn text(&self) -> String {
        match &self.shape {
            Shape::Object(members, spelling) => spelling.object(members),
            Shape::Other(value) => value.to_string(),
            Shape::Broken(text) => text.clone(),
        }
    }
}

impl Spelling {
    fn object(self, members: &[(String, Value)]) -> String {
        let space = match self {
            Self::Spaced => "\r\n\t ",
            Self::Plain | Self::Escaped => "",
        };
        let members: Vec<_> = members
            .iter()
            .map(|(name, value)| {
                let (name, value) = (self.string(name), self.value(value));
                format!("{space}{name}{space}:{space}{value}{space}")
            })
            .collect();
        format!("{space}{{{}}}{space}", members.join(","))
    }

    fn value(self, value: &Value) -> String {
        match value {
            Value::String(text) => self.string(text),
            other => other.to_string(),
        }
    }

    fn string(self, text: &str) -> String {
        match self {
            Self::Escaped => {
                let mut escaped = String::from("\"");
                for unit in text.encode_utf16() {
                    write!(escaped, "\\u{unit:04x}").expect("a string takes everything");
                }
                escaped + "\""
            }
            Self::Plain | Self::Spaced => Value::from(text).to_string(),
        }
    }
}

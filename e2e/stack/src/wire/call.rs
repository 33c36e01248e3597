//! A call, as far as the wire reads it before the broker does.

use broker::model::LoginId;
use contract::{Digest, SessionKey, State};
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use serde::Deserialize;
use url::form_urlencoded;

use super::body::Body;
use super::drop_hop_by_hop;
use super::spoil::Closed;
use crate::logbook::{Heard, Ties};
use crate::operation::Operation;

/// A call on its way to the broker.
pub(super) struct Call {
    pub(super) operation: Option<Operation>,
    head: Parts,
    body: Body,
    names: Names,
}

/// The members of a body by which its login is known. All others are skipped, so that
/// reading them takes no memory.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Names {
    session_key: Option<String>,
    code: Option<String>,
}

impl Call {
    /// Reads `request`, as far as it is not too large.
    pub(super) async fn read(request: Request<Incoming>) -> Result<Self, Closed> {
        let (mut head, incoming) = request.into_parts();
        drop_hop_by_hop(&mut head.headers);
        let body = Body::read(&head, incoming).await?;
        let names = body.whole().and_then(|it| serde_json::from_slice(it).ok());
        Ok(Self {
            operation: Operation::asked_for(&head.method, head.uri.path()),
            head,
            body,
            names: names.unwrap_or_default(),
        })
    }

    /// The login that it is about, as far as its secrets tell.
    pub(super) fn login(&self, ties: &Ties) -> Option<LoginId> {
        let path = self.head.uri.path();
        match self.operation?.name() {
            "POST /v1/login/session" | "POST /v1/login/result" => {
                let key: SessionKey = self.names.session_key.as_deref()?.parse().ok()?;
                Some(LoginId::of_key(&key))
            }
            "GET /authorize" => {
                let state: State = self.parameter("state")?.parse().ok()?;
                Some(LoginId::of_state(&state))
            }
            "GET /login/{handle}" => ties.login_of(path.rsplit('/').next()?),
            "GET /callback/{provider}" => ties.login_of(&self.parameter("state")?),
            "POST /v1/token" => ties.login_of(self.names.code.as_deref()?),
            "GET /v1/profile" | "POST /v1/revoke" => {
                let header = self.head.headers.get(AUTHORIZATION)?.to_str().ok()?;
                ties.login_of(header.split_once(' ')?.1.trim_start())
            }
            _ => None,
        }
    }

    /// What makes it the same call as another.
    pub(super) fn digest(&self) -> Digest {
        let mut text = format!("{} {}\n", self.head.method, self.head.uri).into_bytes();
        for (name, value) in &self.head.headers {
            text.extend_from_slice(name.as_str().as_bytes());
            text.push(b':');
            text.extend_from_slice(value.as_bytes());
            text.push(b'\n');
        }
        text.extend_from_slice(self.body.start());
        Digest::of(&text)
    }

    /// Parts it into what goes to the broker and what stays for the record.
    pub(super) fn send(self) -> (Request<Body>, Heard) {
        let heard = Heard::new(&self.head, self.body.start());
        (Request::from_parts(self.head, self.body), heard)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let query = self.head.uri.query()?;
        form_urlencoded::parse(query.as_bytes())
            .find(|(its, _)| its == name)
            .map(|(_, value)| value.into_owned())
    }
}

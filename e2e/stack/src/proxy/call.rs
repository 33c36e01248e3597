//! A call, as far as the proxy reads it before the broker does.

use broker::model::LoginId;
use contract::{Digest, SessionKey, State};
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use serde::Deserialize;
use url::form_urlencoded;

use super::body::ForwardedBody;
use super::corrupt::Closed;
use super::headers::drop_hop_by_hop;
use crate::event_log::{RecordedRequest, SecretIndex};
use crate::operation::BrokerOperation;

/// A call on its way to the broker.
pub(super) struct ProxiedCall {
    pub(super) operation: Option<BrokerOperation>,
    head: Parts,
    body: ForwardedBody,
    fields: LoginFields,
}

/// The members of a body that identify its login. The parser skips all others without
/// storing them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LoginFields {
    session_key: Option<String>,
    code: Option<String>,
}

impl ProxiedCall {
    /// Reads the request, and its body unless that is large.
    pub(super) async fn read(request: Request<Incoming>) -> Result<Self, Closed> {
        let (mut head, incoming) = request.into_parts();
        drop_hop_by_hop(&mut head.headers);
        let body = ForwardedBody::read(&head, incoming).await?;
        let fields = body.whole().and_then(|it| serde_json::from_slice(it).ok());
        Ok(Self {
            operation: BrokerOperation::of_request(&head.method, head.uri.path()),
            head,
            body,
            fields: fields.unwrap_or_default(),
        })
    }

    /// The login that the call belongs to, as far as its secrets are known.
    pub(super) fn login(&self, secrets: &SecretIndex) -> Option<LoginId> {
        let path = self.head.uri.path();
        match self.operation?.name() {
            "POST /v1/login/session" | "POST /v1/login/result" => {
                let key: SessionKey = self.fields.session_key.as_deref()?.parse().ok()?;
                Some(LoginId::of_key(&key))
            }
            "GET /authorize" => {
                let state: State = self.parameter("state")?.parse().ok()?;
                Some(LoginId::of_state(&state))
            }
            "GET /login/{handle}" => secrets.login_of(path.rsplit('/').next()?),
            "GET /callback/{provider}" => secrets.login_of(&self.parameter("state")?),
            "POST /v1/token" => secrets.login_of(self.fields.code.as_deref()?),
            "GET /v1/profile" | "POST /v1/revoke" => {
                let header = self.head.headers.get(AUTHORIZATION)?.to_str().ok()?;
                secrets.login_of(header.split_once(' ')?.1.trim_start())
            }
            _ => None,
        }
    }

    /// The digest by which a resend of the same call is recognised.
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

    /// The request for the broker, and its record for the event log.
    pub(super) fn into_parts(self) -> (Request<ForwardedBody>, RecordedRequest) {
        let recorded = RecordedRequest::new(&self.head, self.body.start());
        (Request::from_parts(self.head, self.body), recorded)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let query = self.head.uri.query()?;
        form_urlencoded::parse(query.as_bytes())
            .find(|(its, _)| its == name)
            .map(|(_, value)| value.into_owned())
    }
}

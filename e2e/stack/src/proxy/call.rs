//! A call, as far as the proxy reads it before the broker does, and the rules for its headers.

use std::borrow::Cow;

use broker::http::is_host;
use broker::model::LoginId;
use contract::{ClientId, Digest, SessionKey, State};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, TE, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{Request, StatusCode, Version};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use super::corrupt::Closed;
use super::upstream_conn::ForwardedBody;
use crate::event_log::{RecordedRequest, SecretIndex};
use crate::operation::{BrokerOperation, CallOwner};

/// A call on its way to the broker.
pub(super) struct ProxiedCall {
    pub(super) operation: Option<BrokerOperation>,
    head: Parts,
    body: ForwardedBody,
    fields: LoginFields,
    client: ClientField,
}

/// The members of a body that identify its login. The parser skips all others without
/// storing them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LoginFields {
    session_key: Option<String>,
    code: Option<String>,
}

/// The member of a body that identifies its project. It is parsed apart from those of the
/// login, so that a malformed one hides no login.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ClientField {
    client_id: Option<String>,
}

impl ProxiedCall {
    /// Reads the request, and its body unless that is large.
    pub(super) async fn read(request: Request<Incoming>) -> Result<Self, Closed> {
        let (mut head, incoming) = request.into_parts();
        drop_hop_by_hop(&mut head.headers);
        let body = ForwardedBody::read(&head, incoming).await?;
        Ok(Self::new(head, body))
    }

    /// A recorded request, to be sent again.
    pub(super) fn again(request: Request<Bytes>) -> Self {
        let (head, body) = request.into_parts();
        Self::new(head, ForwardedBody::of(body))
    }

    fn new(head: Parts, body: ForwardedBody) -> Self {
        Self {
            operation: BrokerOperation::of_request(&head.method, head.uri.path()),
            fields: members(&body),
            client: members(&body),
            head,
            body,
        }
    }

    /// The login and the project of the call, as far as they are known. The broker has not
    /// checked it: the project is a claim, which filters faults and grants nothing.
    pub(super) fn owner(&self, secrets: &SecretIndex) -> CallOwner {
        let issued = self.issued_secret().and_then(|it| secrets.owner_of(&it));
        let issued = issued.unwrap_or_default();
        CallOwner {
            login: issued.login.or_else(|| self.begun_login()),
            project: self.client_id().or(issued.project),
        }
    }

    /// The secret of the broker's that the call carries.
    fn issued_secret(&self) -> Option<Cow<'_, str>> {
        // The answers to the confirmation page are at a path below it.
        if let Some(visit) = self.head.uri.path().strip_prefix("/login/") {
            return Some(visit.split('/').next()?.into());
        }
        match self.operation?.name() {
            "GET /callback/{provider}" => Some(self.parameter("state")?.into()),
            "POST /v1/token" => Some(self.fields.code.as_deref()?.into()),
            "GET /v1/profile" | "POST /v1/revoke" => {
                let header = self.head.headers.get(AUTHORIZATION)?.to_str().ok()?;
                Some(header.split_once(' ')?.1.trim_start().into())
            }
            _ => None,
        }
    }

    /// The login of the consumer's own secret.
    fn begun_login(&self) -> Option<LoginId> {
        match self.operation?.name() {
            "POST /v1/login/session" | "POST /v1/login/result" => {
                let key: SessionKey = self.fields.session_key.as_deref()?.parse().ok()?;
                Some(LoginId::of_key(&key))
            }
            "GET /authorize" => {
                let state: State = self.parameter("state")?.parse().ok()?;
                Some(LoginId::of_state(&state))
            }
            _ => None,
        }
    }

    /// The project that the call names.
    fn client_id(&self) -> Option<ClientId> {
        match self.operation?.name() {
            "POST /v1/login/session" | "POST /v1/login/result" | "POST /v1/token" => {
                self.client.client_id.as_deref()?.parse().ok()
            }
            "GET /authorize" => self.parameter("client_id")?.parse().ok(),
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

    /// The record for the event log.
    pub(super) fn recorded(&self) -> RecordedRequest {
        RecordedRequest::new(&self.head, self.body.start())
    }

    /// The request for the broker.
    pub(super) fn into_request(self) -> Request<ForwardedBody> {
        Request::from_parts(self.head, self.body)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let query = self.head.uri.query()?;
        form_urlencoded::parse(query.as_bytes())
            .find(|(its, _)| its == name)
            .map(|(_, value)| value.into_owned())
    }
}

/// The members of a JSON body, or none of a large or malformed one.
fn members<T: Default + DeserializeOwned>(body: &ForwardedBody) -> T {
    // serde would also read the members from an array, which the broker refuses.
    let is_object = |it: &&[u8]| it.trim_ascii_start().starts_with(b"{");
    let object = body.whole().filter(is_object);
    let parsed = object.and_then(|it| serde_json::from_slice(it).ok());
    parsed.unwrap_or_default()
}

/// A request that the proxy refuses, because it would have to forward it as another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnforwardableRequest {
    #[error("A request has exactly one Host, a name or an address with its port")]
    Host,
    #[error("Transfer-Encoding: this address reads chunked alone")]
    TransferEncoding,
    #[error("Upgrade: this address speaks no WebSocket")]
    WebSocket,
}

impl UnforwardableRequest {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::WebSocket => StatusCode::BAD_REQUEST,
            Self::TransferEncoding => StatusCode::NOT_IMPLEMENTED,
        }
    }
}

/// Checks what the proxy would change: the `Host`, a coding of the body, an upgrade.
pub(super) fn check(version: Version, headers: &HeaderMap) -> Result<(), UnforwardableRequest> {
    let mut hosts = headers.get_all(HOST).iter();
    let has_host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().is_ok_and(is_host),
        (None, _) => version < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    };
    if !has_host {
        return Err(UnforwardableRequest::Host);
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_readable = match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    };
    if !is_readable {
        return Err(UnforwardableRequest::TransferEncoding);
    }
    // Without its upgrade, the handshake of a page would be the request of a program.
    let mut upgrades = tokens(headers, UPGRADE);
    match upgrades.any(|protocol| protocol.eq_ignore_ascii_case(b"websocket")) {
        true => Err(UnforwardableRequest::WebSocket),
        false => Ok(()),
    }
}

/// Removes the headers that concern a single connection (RFC 9110, section 7.6.1).
pub(super) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
    let named = tokens(headers, CONNECTION).filter_map(|name| name.try_into().ok());
    let named: Vec<HeaderName> = named.collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, KEEP_ALIVE, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
}

/// The members of a list in the headers called `name`.
fn tokens(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &[u8]> {
    let lines = headers.get_all(name).into_iter();
    let members = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    members.map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let lines = lines.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().expect("a name");
            (
                name,
                HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
            )
        });
        lines.collect()
    }

    #[test]
    fn a_header_that_connection_names_is_not_forwarded() {
        let mut sent = headers(&[
            ("connection", "close, X-Hop"),
            ("connection", "x-other,,no name, \u{e9}"),
            ("x-hop", "a"),
            ("x-hop", "b"),
            ("x-other", "c"),
            ("keep-alive", "timeout=5"),
            ("x-end-to-end", "d"),
        ]);
        drop_hop_by_hop(&mut sent);
        assert_eq!(sent, headers(&[("x-end-to-end", "d")]));
    }
}

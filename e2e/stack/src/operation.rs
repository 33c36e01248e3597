//! The operations of the broker, with the names of its audit log, and the owners of their
//! calls.

use broker::model::LoginId;
use contract::ClientId;
use hyper::Method;

/// An operation of the broker: `POST /v1/login/result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BrokerOperation(&'static str);

/// The names of the operations, each with what it does. A path that ends in a parameter matches
/// one further segment.
const OPERATIONS: [(&str, &str); 9] = [
    ("POST /v1/login/session", "Start a login"),
    ("GET /login/{handle}", "Open the login’s address"),
    ("POST /v1/login/result", "Read the result"),
    ("GET /authorize", "Start a legacy login"),
    ("GET /callback/{provider}", "Come back from the provider"),
    ("POST /v1/token", "Redeem the code"),
    ("GET /v1/profile", "Read the profile"),
    ("POST /v1/revoke", "End the token"),
    ("GET /api/providers", "List the providers"),
];

impl BrokerOperation {
    /// Every operation, in the order of a login.
    pub fn all() -> impl Iterator<Item = Self> {
        OPERATIONS.into_iter().map(|(name, _)| Self(name))
    }

    /// The operation of a request.
    pub(crate) fn of_request(method: &Method, path: &str) -> Option<Self> {
        Self::all().find(|operation| {
            let pattern = operation.0.strip_prefix(method.as_str());
            pattern.is_some_and(|it| matches(it.trim_start(), path))
        })
    }

    /// The party that calls the operation: `browser` or `consumer`.
    pub(crate) fn caller(self) -> &'static str {
        let is_backend_api = ["/v1/", "/api/"].iter().any(|part| self.0.contains(part));
        if is_backend_api {
            "consumer"
        } else {
            "browser"
        }
    }

    /// Whether its calls belong to a project.
    pub(crate) fn has_project(self) -> bool {
        self.0 != "GET /api/providers"
    }

    /// The effect of the operation, in a few words.
    pub(crate) fn title(self) -> &'static str {
        let own = OPERATIONS.iter().find(|(name, _)| *name == self.0);
        own.map_or(self.0, |(_, title)| title)
    }

    /// The name: `POST /v1/login/result`.
    pub fn name(self) -> &'static str {
        self.0
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('{') {
        Some((start, _)) => path
            .strip_prefix(start)
            .is_some_and(|rest| !rest.is_empty() && !rest.contains('/')),
        None => pattern == path,
    }
}

impl std::fmt::Display for BrokerOperation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// The login and the project of a call or of a secret, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallOwner {
    pub(crate) login: Option<LoginId>,
    // Beside the login, not looked up by it: two projects may choose the same state, and
    // their logins then have the same id.
    pub(crate) project: Option<ClientId>,
}

/// No operation has this name; the message lists the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operations are {}", list(BrokerOperation::all().map(BrokerOperation::name)))]
pub struct UnknownOperation;

impl std::str::FromStr for BrokerOperation {
    type Err = UnknownOperation;

    fn from_str(name: &str) -> Result<Self, UnknownOperation> {
        Self::all()
            .find(|operation| operation.0 == name)
            .ok_or(UnknownOperation)
    }
}

/// The names, separated by commas.
pub(crate) fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

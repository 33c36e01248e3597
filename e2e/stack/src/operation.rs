//! The operations of the broker, by the names that its audit log gives them.

use hyper::Method;

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation(&'static str);

/// All of them, each with its method and its path; a path that ends in a slash
/// stands for whatever follows it.
const TABLE: [(&str, Method, &str); 9] = [
    ("POST /v1/login/session", Method::POST, "/v1/login/session"),
    ("GET /login/{handle}", Method::GET, "/login/"),
    ("POST /v1/login/result", Method::POST, "/v1/login/result"),
    ("GET /authorize", Method::GET, "/authorize"),
    ("GET /callback/{provider}", Method::GET, "/callback/"),
    ("POST /v1/token", Method::POST, "/v1/token"),
    ("GET /v1/profile", Method::GET, "/v1/profile"),
    ("POST /v1/revoke", Method::POST, "/v1/revoke"),
    ("GET /api/providers", Method::GET, "/api/providers"),
];

impl Operation {
    /// Every operation, in the order in which a login meets them.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.into_iter().map(|(name, ..)| Self(name))
    }

    /// The operation that `method` and `path` ask for.
    pub(crate) fn asked_for(method: &Method, path: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|(_, its, pattern)| its == method && matches(pattern, path))
            .map(|(name, ..)| Self(name))
    }

    /// Who calls it: `browser` or `consumer`.
    pub(crate) fn caller(self) -> &'static str {
        let is_backends = ["/v1/", "/api/"].iter().any(|part| self.0.contains(part));
        if is_backends { "consumer" } else { "browser" }
    }

    /// Its name, `POST /v1/login/result`.
    pub fn name(self) -> &'static str {
        self.0
    }
}

fn matches(pattern: &str, path: &str) -> bool {
    match path.strip_prefix(pattern) {
        Some(rest) if pattern.ends_with('/') => !rest.is_empty() && !rest.contains('/'),
        Some(rest) => rest.is_empty(),
        None => false,
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

/// There is no such operation; the message lists those that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operations are {}", list(Operation::all().map(Operation::name)))]
pub struct UnknownOperation;

impl std::str::FromStr for Operation {
    type Err = UnknownOperation;

    fn from_str(name: &str) -> Result<Self, UnknownOperation> {
        Self::all()
            .find(|operation| operation.0 == name)
            .ok_or(UnknownOperation)
    }
}

/// `names`, with commas between them.
pub(crate) fn list(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

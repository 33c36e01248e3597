//! The users that a run queues at the control address of a stack.

use serde_json::{Value, json};

/// A user's account at a provider, as the control address takes it.
#[derive(Debug)]
pub(crate) struct QueuedUser {
    pub(crate) id: &'static str,
    pub(crate) name: Option<&'static str>,
    pub(crate) username: Option<&'static str>,
    pub(crate) email: Option<&'static str>,
    pub(crate) email_verified: bool,
    pub(crate) picture: Option<&'static str>,
}

/// An account of which the provider knows the id alone.
const MINIMAL: QueuedUser = QueuedUser {
    id: "104242",
    name: None,
    username: None,
    email: None,
    email_verified: false,
    picture: None,
};

/// An account with everything.
const COMPLETE: QueuedUser = QueuedUser {
    id: "104242",
    name: Some("Conformance"),
    username: Some("conformance"),
    email: Some("conformance@app.example"),
    email_verified: true,
    picture: Some("https://app.example/conformance.png"),
};

/// The account of the default users, after its owner changed everything.
const RENAMED: QueuedUser = QueuedUser {
    id: "104242",
    name: Some("Renamed"),
    username: Some("renamed"),
    email: Some("renamed@app.example"),
    email_verified: true,
    picture: Some("https://app.example/renamed.png"),
};

/// Another account, with the name and the address of the complete one, which the
/// provider has not verified for it.
const NAMESAKE: QueuedUser = QueuedUser {
    id: "104243",
    name: Some("Conformance"),
    username: Some("conformance-namesake"),
    email: Some("conformance@app.example"),
    email_verified: false,
    picture: Some("https://app.example/namesake.png"),
};

impl QueuedUser {
    /// The users of the sign-ins that compare accounts.
    pub(crate) const FURTHER: [&'static Self; 2] = [&RENAMED, &NAMESAKE];

    /// The account of a sign-in for which no scenario names another: the same one each
    /// time, with GitHub a complete one, with Google a minimal one.
    pub(crate) fn default_at(provider: &str) -> &'static Self {
        match provider {
            "google" => &MINIMAL,
            _ => &COMPLETE,
        }
    }

    /// The `person` of the control address.
    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "username": self.username,
            "email": self.email,
            "email_verified": self.email_verified,
            "picture": self.picture,
        })
    }
}

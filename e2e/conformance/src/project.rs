//! The project whose backend the run plays, and the users that it queues at the control
//! address of a stack.

use std::fmt;

use agent::backend::Backend;
use serde::Serialize;

/// A project's credentials and callbacks.
#[derive(Clone)]
pub struct TestProject {
    /// The client_id.
    pub client_id: String,
    /// The client_secret.
    pub client_secret: String,
    /// The registered callback of its logins.
    pub callback: String,
    /// A second registered callback.
    pub second_callback: Option<String>,
}

impl TestProject {
    /// The calls of its backend.
    pub(crate) fn backend(&self) -> Backend {
        Backend {
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone(),
            callback: self.callback.clone(),
        }
    }

    /// The known callbacks.
    pub(crate) fn callbacks(&self) -> impl Iterator<Item = &str> {
        let second = self.second_callback.as_deref();
        std::iter::once(self.callback.as_str()).chain(second)
    }
}

impl fmt::Debug for TestProject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestProject")
            .field("client_id", &self.client_id)
            .field("client_secret", &"[redacted]")
            .field("callback", &self.callback)
            .finish_non_exhaustive()
    }
}

/// A user's account at a provider, as the control address takes it.
#[derive(Debug, Serialize)]
pub(crate) struct QueuedUser {
    pub(crate) id: &'static str,
    pub(crate) name: Option<&'static str>,
    pub(crate) username: Option<&'static str>,
    pub(crate) email: Option<&'static str>,
    pub(crate) email_verified: bool,
    pub(crate) picture: Option<&'static str>,
}

impl QueuedUser {
    /// An account of which the provider knows the id alone.
    const MINIMAL: Self = Self {
        id: "104242",
        name: None,
        username: None,
        email: None,
        email_verified: false,
        picture: None,
    };

    /// An account with everything.
    const COMPLETE: Self = Self {
        id: "104242",
        name: Some("Conformance"),
        username: Some("conformance"),
        email: Some("conformance@app.example"),
        email_verified: true,
        picture: Some("https://app.example/conformance.png"),
    };

    /// The account of the default users, after its owner changed everything.
    const RENAMED: Self = Self {
        id: "104242",
        name: Some("Renamed"),
        username: Some("renamed"),
        email: Some("renamed@app.example"),
        email_verified: true,
        picture: Some("https://app.example/renamed.png"),
    };

    /// Another account, with the name and the address of the complete one, which the
    /// provider has not verified for it.
    const NAMESAKE: Self = Self {
        id: "104243",
        username: Some("conformance-namesake"),
        email_verified: false,
        picture: Some("https://app.example/namesake.png"),
        ..Self::COMPLETE
    };

    /// The users of the sign-ins that compare accounts.
    pub(crate) const FURTHER: [&'static Self; 2] = [&Self::RENAMED, &Self::NAMESAKE];

    /// The account of a sign-in for which no scenario names another: the same one each
    /// time, with GitHub a complete one, with Google a minimal one.
    pub(crate) fn default_at(provider: &str) -> &'static Self {
        match provider {
            "google" => &Self::MINIMAL,
            _ => &Self::COMPLETE,
        }
    }
}

//! A project whose backend the run plays, and the requests of that backend.

use std::fmt;

use serde_json::{Value, json};

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
    /// The body that starts a login.
    pub(crate) fn session_request(&self, key: &str, provider: &str) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": key,
            "provider": provider,
            "redirect_uri": self.callback,
        })
    }

    /// The body that reads a result.
    pub(crate) fn result_request(&self, key: &str) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": key,
            "redirect_uri": self.callback,
        })
    }

    /// The body that redeems a code.
    pub(crate) fn token_request(&self, code: &str, verifier: &str) -> Value {
        json!({
            "grant_type": "authorization_code",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code": code,
            "redirect_uri": self.callback,
            "code_verifier": verifier,
        })
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

//! What is tested, and with what.

use std::fmt;

use serde_json::{Value, json};

use super::browser::Browser;
use super::control::Control;

/// One run.
#[derive(Debug)]
pub struct Plan {
    /// The broker, without a trailing slash.
    pub base_url: String,
    /// The project whose backend is played.
    pub project: Project,
    /// Another one, for what projects may not do to each other.
    pub other: Option<Project>,
    /// Who takes the browser's part.
    pub browser: Browser,
    /// The control address of the stack around the broker, if there is one.
    pub control: Option<Control>,
    /// How what expires is seen to expire.
    pub expiry: Expiry,
}

/// How what expires is seen to expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// The control address moves the clock.
    ByControl,
    /// By waiting: a quarter of an hour.
    InRealTime,
    /// Not at all.
    LeftOut,
}

/// A project's credentials and callbacks.
#[derive(Clone)]
pub struct Project {
    /// What it calls itself.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// Where its browsers come back to.
    pub callback: String,
    /// A second registered callback.
    pub second_callback: Option<String>,
}

impl Project {
    /// What a backend sends to start a login.
    pub(crate) fn session_request(&self, key: &str, provider: &str) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": key,
            "provider": provider,
            "redirect_uri": self.callback,
        })
    }

    /// What a backend sends to read a result.
    pub(crate) fn result_request(&self, key: &str) -> Value {
        json!({
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "session_key": key,
            "redirect_uri": self.callback,
        })
    }

    /// What a backend sends to redeem a code.
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
}

impl fmt::Debug for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Project")
            .field("client_id", &self.client_id)
            .field("client_secret", &"[redacted]")
            .field("callback", &self.callback)
            .finish_non_exhaustive()
    }
}

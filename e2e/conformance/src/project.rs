//! The projects whose backends the run plays, and the users that it queues at the control
//! address of a stack.

use std::iter;

use agent::backend::Backend;
use agent::control::{Control, ControlError, Project};
use serde::Serialize;

use super::verdict::NotTestable;

/// The names and callback paths of the runner's own projects: one callback is shared, one
/// is each project's own. Nothing needs to listen there.
const PROJECTS: [(&str, [&str; 2]); 2] = [
    ("Conformance", ["/conformance", "/conformance/second"]),
    (
        "Conformance, another project",
        ["/conformance", "/another-project"],
    ),
];

/// A project's credentials and callbacks.
#[derive(Debug, Clone)]
pub struct TestProject {
    /// The calls of its backend, whose logins have the first registered callback.
    pub backend: Backend,
    /// A second registered callback.
    pub second_callback: Option<String>,
}

impl TestProject {
    /// A project with one callback.
    pub fn new(
        client_id: impl Into<String>,
        client_secret: impl Into<String>,
        callback: impl Into<String>,
    ) -> Self {
        Self {
            backend: Backend {
                client_id: client_id.into(),
                client_secret: client_secret.into(),
                callback: callback.into(),
            },
            second_callback: None,
        }
    }

    /// The same with a second callback, if there is one.
    #[must_use]
    pub fn with_second(self, second_callback: Option<String>) -> Self {
        Self {
            second_callback,
            ..self
        }
    }

    /// The runner's two projects at a control address: those of an earlier run, or new ones.
    ///
    /// # Errors
    ///
    /// If no server answers, or the server is no control address.
    pub async fn at(control: &Control) -> Result<[Self; 2], NotTestable> {
        let known = control.projects().await?;
        let [one, other] = PROJECTS;
        Ok([
            Self::registered(control, &known, one).await?,
            Self::registered(control, &known, other).await?,
        ])
    }

    async fn registered(
        control: &Control,
        known: &[Project],
        (name, paths): (&str, [&str; 2]),
    ) -> Result<Self, ControlError> {
        let callbacks = paths.map(|path| format!("http://localhost:8042{path}"));
        let project = match known.iter().find(|it| it.name == name) {
            Some(earlier) => earlier.clone(),
            None => control.register(name, &callbacks).await?,
        };
        let mut callbacks = project.redirect_uris.into_iter();
        let callback = callbacks.next().unwrap_or_default();
        let new = Self::new(project.client_id, project.client_secret, callback);
        Ok(new.with_second(callbacks.next()))
    }

    /// The known callbacks.
    pub(crate) fn callbacks(&self) -> impl Iterator<Item = &str> {
        let second = self.second_callback.as_deref();
        iter::once(self.backend.callback.as_str()).chain(second)
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

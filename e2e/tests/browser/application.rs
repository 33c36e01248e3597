//! A consumer's application at a stack: a project with a backend, and a site whose
//! pages start its logins.

use serde_json::{Value, json};
use stack::Stack;
use testkit::backend::{Backend, CleanLogin};
use testkit::http::Http;

use crate::site::Site;

/// An application with a site of its own.
pub(crate) struct Application {
    pub(crate) site: Site,
    pub(crate) backend: Backend,
}

impl Application {
    pub(crate) async fn at(stack: &Stack) -> Self {
        let site = Site::called("localhost").await;
        site.shows("/callback", "<h1>Home</h1>");
        let backend = register(stack, "Tickets & More", &site.url("/callback")).await;
        Self { site, backend }
    }

    /// Starts a login.
    pub(crate) async fn login(&self) -> CleanLogin {
        self.backend.start_login("google").await
    }

    /// Reads the result of a login.
    pub(crate) async fn result(&self, login: &CleanLogin) -> Value {
        self.backend.result(&login.session_key).await.json()
    }
}

/// The backend of a new project whose callback is the demo's, which does not know the
/// logins of another project.
pub(crate) async fn backend_at_the_demo(stack: &Stack) -> Backend {
    let callback = format!("{}/callback", stack.urls().consumer);
    register(stack, "An app of our own", &callback).await
}

async fn register(stack: &Stack, name: &str, callback: &str) -> Backend {
    let control = Http::at(&stack.urls().control);
    let project = json!({ "name": name, "redirect_uris": [callback] });
    let project = control.post("/api/projects").json(&project).send().await;
    Backend::of(&stack.urls().broker, &project.json())
}

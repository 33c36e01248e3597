//! A consumer's application at a stack: a project with a backend, and a site whose
//! pages start its logins.

use serde_json::{Value, json};
use stack::Stack;
use testkit::backend::{Backend, CleanLogin};
use testkit::http::{Http, client_builder};

use crate::site::Site;

/// An application with a site of its own.
pub(crate) struct Application {
    pub(crate) site: Site,
    pub(crate) backend: Backend,
}

impl Application {
    pub(crate) async fn at(stack: &Stack) -> Self {
        Self::guarded(stack, "auto").await
    }

    /// One with this relay guard.
    pub(crate) async fn guarded(stack: &Stack, guard: &str) -> Self {
        let site = Site::called("localhost").await;
        site.shows("/callback", "<h1>Home</h1>");
        let backend = register(stack, "Tickets & More", &site.url("/callback"), guard).await;
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
    register(stack, "An app of our own", &callback, "auto").await
}

async fn register(stack: &Stack, name: &str, callback: &str, guard: &str) -> Backend {
    let control = format!("{}/api/projects", stack.urls().control);
    let project = json!({ "name": name, "redirect_uris": [callback], "relay_guard": guard });
    let project = http(stack).post(control).json(&project).send().await;
    let backend = Backend::of(&stack.urls().broker, &project.json());
    let http = backend.http.with_client(client(stack));
    Backend { http, ..backend }
}

/// A client that trusts the certificates of `stack`.
pub(crate) fn http(stack: &Stack) -> Http {
    Http::new().with_client(client(stack))
}

fn client(stack: &Stack) -> reqwest::Client {
    let authority = stack.ca_file().map(|file| {
        let pem = std::fs::read(file).unwrap();
        reqwest::Certificate::from_pem(&pem).unwrap()
    });
    let builder = client_builder().tls_certs_merge(authority);
    builder.build().unwrap()
}

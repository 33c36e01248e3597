//! A consumer's application at a stack: a project with a backend, and a site whose
//! pages start its logins.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};
use stack::Stack;
use testkit::backend::{Backend, CleanLogin};
use testkit::http::{Http, client_builder};
use thirtyfour::error::WebDriverResult;

use crate::site::Site;
use crate::user::User;

/// The host name of a stack over TLS that has one.
pub(crate) const SHOP: &str = "app.shop.test";

const NAME: &str = "Tickets & More";

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
        let callbacks = [site.url("/callback")];
        let project = json!({ "name": NAME, "redirect_uris": callbacks, "relay_guard": guard });
        let control = format!("{}/api/projects", stack.urls().control);
        let project = http(stack).post(control).json(&project).send().await;
        let backend = Backend::of(&stack.urls().broker, &project.json());
        let http = backend.http.with_client(client(stack));
        Self {
            site,
            backend: Backend { http, ..backend },
        }
    }

    /// Starts a login.
    pub(crate) async fn login(&self) -> CleanLogin {
        self.backend.start_login("google").await
    }

    /// Reads the result of a login.
    pub(crate) async fn result(&self, login: &CleanLogin) -> Value {
        self.backend.result(&login.session_key).await.json()
    }

    /// Asserts that the login has no result yet.
    pub(crate) async fn waits_for(&self, login: &CleanLogin) {
        assert_eq!(self.result(login).await, json!({ "status": "pending" }));
    }

    /// Asserts that the login ended without a user.
    pub(crate) async fn is_denied(&self, login: &CleanLogin) {
        let denied = json!({ "status": "failed", "error": "access_denied" });
        assert_eq!(self.result(login).await, denied);
    }

    /// Waits until the user is asked whether they want to sign in here.
    pub(crate) async fn asks(&self, user: &User<'_>) -> WebDriverResult<()> {
        user.is_asked_to_confirm(NAME, &self.site.url("")).await
    }
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
    // Port 0 is the one of the URL.
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    builder.resolve(SHOP, here).build().unwrap()
}

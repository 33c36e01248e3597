//! The panel *What just happened* on the demo's pages: the login of this browser in plain
//! words, each line with its place in the demo's source and a link to its arrow.
//!
//! The stack adds it to the demo's answers, so that the demo's own code stays free of it. A
//! cookie of the stack's keeps the ids of the logins that the browser has started; an id
//! is no secret. Of several, the profile tells the last one that signed a user in, and any
//! other page the one with the latest call: that of the tab that has just come back.

mod cookie;
mod fairing;
mod login_choice;
mod page;
mod story;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rocket::http::ContentType;
use rocket::{Build, Rocket, get, routes};

use crate::proxy::ProxyState;
use cookie::LoginsCookie;

/// The part of a demo's server that adds the panel to its answers.
#[derive(Clone)]
pub(crate) struct DemoPanel {
    proxy_state: Arc<ProxyState>,
    /// The URL of the control address.
    control: String,
    /// The demo's project.
    client_id: String,
    cookie: LoginsCookie,
}

impl DemoPanel {
    /// A panel for the demo at `demo`, with links to `control`.
    pub(crate) fn new(
        proxy_state: Arc<ProxyState>,
        control: String,
        client_id: String,
        demo: &str,
    ) -> Self {
        Self {
            proxy_state,
            control,
            client_id,
            cookie: LoginsCookie::of(demo),
        }
    }

    /// Adds the panel to a server of the demo.
    pub(crate) fn attach(&self, demo: Rocket<Build>) -> Rocket<Build> {
        demo.attach(self.clone()).mount("/kit", routes![style])
    }
}

/// The style of the panel. The demo's policy admits style sheets of its own origin only.
#[get("/panel.css")]
fn style() -> (ContentType, &'static str) {
    (ContentType::CSS, include_str!("../static/demo_panel.css"))
}

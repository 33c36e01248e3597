//! A broker whose address is not this machine's, and the nginx in front of it.

use broker::config::Config;
use broker::seal::SealKey;
use broker::{Broker, Surroundings};
use mock_upstream::{Clock, MockUpstream};
use serde_json::json;

use super::nginx::{Change, NAME, Nginx, Ports, Written};
use crate::assembly::{self, Running, UPSTREAM_SECRET};
use crate::backend::Backend;
use crate::browser::{Browser, NOWHERE};
use crate::login::{Flow, Outcome};
use crate::{fresh, logs};

/// Both, and a project's backend outside.
pub(crate) struct Front {
    /// Its calls go through nginx.
    pub(crate) backend: Backend,
    pub(crate) nginx: Nginx,
    _broker: Running,
    _upstream: MockUpstream,
}

impl Front {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| (), &[]).await
    }

    /// The same with settings of the broker and changes to nginx's.
    pub(crate) async fn start_with(
        settings: impl FnOnce(&mut Config),
        changes: &[Change<'_>],
    ) -> Self {
        logs::listen();
        let ports = Ports::draw();
        let base_url = format!("https://{NAME}:{}", ports.https().port());
        let upstream = assembly::upstream(&base_url, Clock::system()).await;
        let mut config = assembly::config(
            &base_url,
            upstream.google().url(),
            upstream.github().url(),
            UPSTREAM_SECRET,
        );
        let mut backend = Backend::of(&base_url, &credentials());
        config.cookie_keys = vec![SealKey::from_random(&[42; 32])];
        config.ip_header = Some("X-Real-IP".to_owned().try_into().expect("a name"));
        config.projects = vec![assembly::project(&backend, &[&backend.callback])];
        settings(&mut config);
        let broker = Broker::assemble(config, Surroundings::default()).expect("a broker");
        let broker = Running::launch(broker).await;
        let nginx = Nginx::start(ports, &[broker.address], changes);
        backend.http = nginx.client();
        Self {
            backend,
            nginx,
            _broker: broker,
            _upstream: upstream,
        }
    }

    /// A browser that finds the broker behind its nginx.
    pub(crate) fn browser(&self) -> Browser {
        Browser::by(self.backend.http.clone())
    }

    /// Ends nginx, and returns what it wrote.
    pub(crate) fn stop(self) -> Written {
        self.nginx.stop()
    }

    /// A whole login by `flow`.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        let ticket = flow.start(&self.backend, provider).await;
        let arrival = self.browser().follow(ticket.url()).await;
        ticket.outcome(&self.backend, &arrival.url).await
    }
}

fn credentials() -> serde_json::Value {
    json!({
        "client_id": "behind-nginx",
        "client_secret": fresh::secret(),
        "redirect_uris": [format!("{NOWHERE}/behind/nginx")],
    })
}

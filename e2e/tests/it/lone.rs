//! A broker by itself, with providers as they never are in the stack: refusing
//! our credentials, not there at all, or otherwise than we believe them to be.

use std::net::TcpListener;

use broker::config::Config;
use broker::{Broker, Dependencies};
use mock_upstream::{Clock, MockUpstream, Settings};
use serde_json::json;
use stack::wire::Wire;
use url::Url;

use crate::assembly::{self, Running, UPSTREAM_SECRET};
use crate::login::{Flow, Outcome};
use crate::logs;
use testkit::backend::Backend;
use testkit::browser::{Browser, UNSERVED};
use testkit::fresh;

/// What is wrong with both providers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// They know another secret of ours.
    WrongSecret,
    /// Connections to them are refused.
    NobodyListens,
}

/// A broker, and providers in trouble.
pub(crate) struct Lone {
    backend: Backend,
    _broker: Running,
    _wire: Wire,
    _upstream: MockUpstream,
}

impl Lone {
    pub(crate) async fn start(trouble: Trouble) -> Self {
        logs::listen();
        let (front, base_url) = assembly::front();
        let upstream = assembly::upstream(&base_url, Clock::system()).await;
        let (google, github, secret) = match trouble {
            Trouble::WrongSecret => (
                upstream.google().url().to_owned(),
                upstream.github().url().to_owned(),
                "not the right secret",
            ),
            Trouble::NobodyListens => (UNSERVED.to_owned(), UNSERVED.to_owned(), UPSTREAM_SECRET),
        };
        let config = assembly::config(&base_url, &google, &github, secret);
        Self::launch(front, &base_url, config, upstream).await
    }

    /// With providers that have these settings, and know us.
    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        logs::listen();
        let (front, base_url) = assembly::front();
        let upstream = assembly::upstream_with(&base_url, Clock::system(), change).await;
        let (google, github) = (upstream.google().url(), upstream.github().url());
        let config = assembly::config(&base_url, google, github, UPSTREAM_SECRET);
        Self::launch(front, &base_url, config, upstream).await
    }

    async fn launch(
        front: TcpListener,
        base_url: &str,
        mut config: Config,
        upstream: MockUpstream,
    ) -> Self {
        let backend = Backend::of(
            base_url,
            &json!({
                "client_id": "alone",
                "client_secret": fresh::secret(),
                "redirect_uris": [format!("{UNSERVED}/alone/back")],
            }),
        );
        config.projects = vec![assembly::project(&backend, &[&backend.callback])];
        let broker = Broker::assemble(config, Dependencies::default()).expect("a broker");
        let broker = Running::launch(broker).await;
        Self {
            _wire: Wire::carry(front, broker.address, Default::default()).expect("a listener"),
            backend,
            _broker: broker,
            _upstream: upstream,
        }
    }

    /// A whole login by `flow`.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        let ticket = flow.start(&self.backend, provider).await;
        let arrival = Browser::new().follow(ticket.url()).await;
        ticket.outcome(&self.backend, &arrival.url).await
    }

    /// A login whose browser cannot get to the provider, and comes back all the
    /// same, with a code that nobody gave it.
    pub(crate) async fn sign_in_with_an_invented_answer(
        &self,
        flow: Flow,
        provider: &str,
    ) -> Outcome {
        let ticket = flow.start(&self.backend, provider).await;
        let browser = Browser::new();
        let departure = browser.open(ticket.url()).await;
        let to_provider = departure.location().expect("the provider");
        let to_provider = Url::parse(to_provider).expect("a URL");
        let (_, state) = to_provider
            .query_pairs()
            .find(|(name, _)| name == "state")
            .expect("a state");
        let answer = format!(
            "{}/callback/{provider}?code=0123456789abcdef0123&state={state}",
            self.backend.broker()
        );
        let arrival = browser.follow(&answer).await;
        ticket.outcome(&self.backend, &arrival.url).await
    }
}

//! A broker outside the stack, with providers as the stack never has them: they refuse
//! the broker's credentials, are unreachable, or have other settings.

pub(crate) mod parts;

use std::net::TcpListener;

use broker::config::Config;
use broker::{Broker, Dependencies};
use mock_upstream::{Clock, MockUpstream, Settings};
use stack::proxy::Proxy;
use testkit::backend::Backend;
use testkit::browser::{Browser, UNSERVED};
use testkit::server::{ServerThread, TestServer, bind};
use testkit::{fresh, query};

use crate::login::{Flow, Outcome};
use crate::logs;
use parts::UPSTREAM_SECRET;

/// A broker, its providers, and the backend of its one project.
pub(crate) struct TestBroker {
    backend: Backend,
    _broker: TestServer,
    _wire: Proxy,
    _upstream: MockUpstream,
}

/// A failure of both providers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProviderFailure {
    /// They know another secret of the broker.
    WrongSecret,
    /// They refuse connections.
    Unreachable,
}

impl TestBroker {
    /// Starts one whose providers fail.
    pub(crate) async fn with_failing_providers(failure: ProviderFailure) -> Self {
        logs::listen();
        let (listener, base_url) = bind();
        let upstream = parts::upstream(&base_url, Clock::system()).await;
        let (google, github, secret) = match failure {
            ProviderFailure::WrongSecret => (
                upstream.google().url().to_owned(),
                upstream.github().url().to_owned(),
                "not the right secret",
            ),
            ProviderFailure::Unreachable => {
                (UNSERVED.to_owned(), UNSERVED.to_owned(), UPSTREAM_SECRET)
            }
        };
        let config = parts::config(&base_url, &google, &github, secret);
        Self::launch(listener, &base_url, config, upstream).await
    }

    /// Starts one whose providers have these settings, and know it.
    pub(crate) async fn with_providers(change: impl FnOnce(&mut Settings)) -> Self {
        logs::listen();
        let (listener, base_url) = bind();
        let upstream = parts::upstream_with(&base_url, Clock::system(), change).await;
        let (google, github) = (upstream.google().url(), upstream.github().url());
        let config = parts::config(&base_url, google, github, UPSTREAM_SECRET);
        Self::launch(listener, &base_url, config, upstream).await
    }

    async fn launch(
        listener: TcpListener,
        base_url: &str,
        mut config: Config,
        upstream: MockUpstream,
    ) -> Self {
        let callback = format!("{UNSERVED}/alone/back");
        let backend = Backend::new(base_url, "alone", &fresh::secret(), &callback);
        config.projects = vec![parts::project(&backend, &[&backend.callback])];
        let broker = Broker::assemble(config, Dependencies::default()).expect("a broker");
        let broker = parts::launch(broker).await;
        Self {
            _wire: Proxy::start(listener, broker.address, Default::default()).expect("a listener"),
            backend,
            _broker: broker,
            _upstream: upstream,
        }
    }

    /// A whole login.
    pub(crate) async fn sign_in(&self, flow: Flow, provider: &str) -> Outcome {
        let login = flow.start(&self.backend, provider).await;
        let end = Browser::new().follow(login.url()).await;
        login.outcome(&self.backend, &end.url).await
    }

    /// A login whose browser does not get to the provider, and comes back all the
    /// same, with a code that no provider issued.
    pub(crate) async fn sign_in_with_forged_code(&self, flow: Flow, provider: &str) -> Outcome {
        let login = flow.start(&self.backend, provider).await;
        let browser = Browser::new();
        let redirect = browser.open(login.url()).await;
        let state = query::parameter(redirect.location().expect("the provider"), "state");
        let callback = format!(
            "{}/callback/{provider}?code=0123456789abcdef0123&state={state}",
            self.backend.broker()
        );
        let end = browser.follow(&callback).await;
        login.outcome(&self.backend, &end.url).await
    }
}

/// Launches a broker in a thread of its own, which ends like a process.
pub(crate) async fn launch_in_thread(config: &Config, dependencies: Dependencies) -> ServerThread {
    stack::silence_rocket();
    let broker = Broker::assemble(config.clone(), dependencies).expect("a broker");
    ServerThread::launch(move || broker.rocket()).await
}

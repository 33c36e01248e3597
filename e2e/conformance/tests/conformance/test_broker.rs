//! A broker to test: on a store of the test's choice, behind a proxy, with providers
//! and a clock that a control address moves.

use std::sync::Arc;
use std::time::Duration;

use agent::control::Control;
use broker::clock::Clock;
use broker::cookie_cipher::CookieKey;
use broker::store::StoreUrl;
use broker::{Broker, Dependencies};
use conformance::browser::BrowserDriver;
use conformance::{self, ConformanceReport, Expiry, Requirement, TestPlan, TestProject};
use mock_upstream::{Misbehaviour, MockUpstream, Next, Provider, User};

use super::proxy::{self, Flaw, ProxiedRequest, ProxiedResponse};
use crate::parts::{self, UPSTREAM_SECRET};
use testkit::backend::Backend;
use testkit::server::TestServer;

/// Where no server listens. Not the origin of a callback: the runner listens there while a
/// browser of its own signs in.
pub(crate) const NO_SERVER: &str = "http://localhost:1";

pub(crate) const CALLBACK: &str = "http://localhost:9/conformance";
pub(crate) const SECOND_CALLBACK: &str = "http://localhost:9/conformance/second";
/// A callback of the other project alone.
pub(crate) const OTHER_CALLBACK: &str = "http://localhost:9/another-project";
pub(crate) const CLIENT_ID: &str = "conformance";
pub(crate) const OTHER_CLIENT_ID: &str = "conformance-other";
pub(crate) const SECRET: &str = "the-secret-of-the-project-that-is-played";
pub(crate) const OTHER_SECRET: &str = "the-secret-of-the-other-project";

pub(crate) struct TestBroker {
    pub(crate) base_url: String,
    pub(crate) control: String,
    _broker: TestServer,
    _upstream: Arc<MockUpstream>,
}

impl TestBroker {
    /// This kit's broker.
    pub(crate) async fn compliant() -> Self {
        Self::with(Flaw::default()).await
    }

    /// A broker with a flaw, in memory.
    pub(crate) async fn with(flaw: Flaw) -> Self {
        Self::start(StoreUrl::SqliteMemory, flaw).await
    }

    pub(crate) async fn start(store: StoreUrl, flaw: Flaw) -> Self {
        testkit::leak_check::watch_log();
        let clock = Clock::system();
        let (front, base_url) = testkit::server::bind();
        let shown = clock.clone();
        let upstream_clock = mock_upstream::Clock::new(move || shown.now().0);
        let upstream = Arc::new(parts::upstream(&base_url, upstream_clock).await);
        let (google, github) = (upstream.google().url(), upstream.github().url());
        let mut config = parts::config(&base_url, google, github, UPSTREAM_SECRET);
        config.store.url = store;
        // On PostgreSQL a broker does not start without one.
        config.cookie_keys = vec![CookieKey::from_random(&broker::random::bytes32())];
        config.projects = [
            (CLIENT_ID, SECRET, SECOND_CALLBACK),
            (OTHER_CLIENT_ID, OTHER_SECRET, OTHER_CALLBACK),
        ]
        .map(|(id, secret, second)| {
            let backend = Backend::new(&base_url, id, secret, CALLBACK);
            parts::project(&backend, &[CALLBACK, second])
        })
        .into();
        let dependencies = Dependencies {
            clock: clock.clone(),
            ..Dependencies::default()
        };
        let broker = Broker::assemble(config, dependencies).expect("a broker");
        stack::silence_rocket();
        let broker = TestServer::launch(broker.rocket()).await;
        proxy::forward(front, broker.address, clock.clone(), flaw);
        Self {
            control: control(clock, upstream.clone()),
            base_url,
            _broker: broker,
            _upstream: upstream,
        }
    }

    /// A plan that tests everything.
    pub(crate) fn plan(&self) -> TestPlan {
        TestPlan {
            base_url: self.base_url.clone(),
            project: project(CLIENT_ID, SECRET, SECOND_CALLBACK),
            other: Some(project(OTHER_CLIENT_ID, OTHER_SECRET, OTHER_CALLBACK)),
            browser: BrowserDriver::Automatic,
            control: Control::at(&self.control).ok(),
            expiry: Expiry::ByControl,
        }
    }

    /// Tests the broker by that plan.
    pub(crate) async fn run(&self) -> ConformanceReport {
        self.run_some(Requirement::ALL).await
    }

    /// Plays the scenarios that cover one of these.
    pub(crate) async fn run_some(&self, requirements: &[Requirement]) -> ConformanceReport {
        let report = conformance::run_some(&self.plan(), requirements, &mut |_| {}).await;
        report.expect("a broker that knows the project")
    }
}

pub(crate) async fn run(plan: &TestPlan) -> ConformanceReport {
    let report = conformance::run(plan, &mut |_| {}).await;
    report.expect("a broker that knows the project")
}

pub(crate) fn project(id: &str, secret: &str, second: &str) -> TestProject {
    TestProject::new(id, secret, CALLBACK).with_second(Some(second.to_owned()))
}

/// A control address with the calls that a run makes.
fn control(clock: Clock, upstream: Arc<MockUpstream>) -> String {
    let (listener, url) = testkit::server::bind();
    proxy::serve(listener, move |request| {
        let response = obey(&clock, &upstream, &request);
        async move { response }
    });
    url
}

fn obey(clock: &Clock, upstream: &MockUpstream, request: &ProxiedRequest) -> ProxiedResponse {
    let body = request.json();
    let next = match request.path.as_str() {
        "/api/clock/advance" => {
            let seconds = body["seconds"].as_u64().expect("whole seconds");
            clock.advance(Duration::from_secs(seconds));
            return ProxiedResponse::of(200, "{}");
        }
        "/api/upstreams/google/next" => upstream.provider(Provider::Google),
        "/api/upstreams/github/next" => upstream.provider(Provider::GitHub),
        other => panic!("no run asks for {other}"),
    };
    let person = body.get("person").cloned();
    next.queue(match person {
        Some(person) => Next::User(serde_json::from_value::<User>(person).expect("a person")),
        None => Next::Misbehave(Misbehaviour::Deny),
    })
    .expect("room in the queue");
    ProxiedResponse::of(201, "")
}

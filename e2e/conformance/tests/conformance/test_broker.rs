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
use conformance::{self, ConformanceReport, Expiry, RacePlan, Requirement, TestPlan, TestProject};
use mock_upstream::{Misbehaviour, MockUpstream, Next, Provider, User};

use super::proxy::{self, Flaw, FlawedBroker, ProxiedRequest, ProxiedResponse};
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
    /// The addresses of its further replicas.
    also: Vec<String>,
    _brokers: Vec<TestServer>,
    _upstream: Arc<MockUpstream>,
}

impl TestBroker {
    /// This kit's broker.
    pub(crate) async fn compliant() -> Self {
        Self::with(Flaw::default()).await
    }

    /// A broker with a flaw, in memory.
    pub(crate) async fn with(flaw: Flaw) -> Self {
        Self::start(StoreUrl::SqliteMemory, flaw, 1).await
    }

    /// As many replicas. Those in memory are one broker behind several proxies.
    pub(crate) async fn start(store: StoreUrl, flaw: Flaw, replicas: usize) -> Self {
        testkit::leak_check::watch_log();
        let clock = Clock::system();
        let mut fronts: Vec<_> = (0..replicas).map(|_| testkit::server::bind()).collect();
        let base_url = fronts[0].1.clone();
        let brokers = match store {
            StoreUrl::SqliteMemory => 1,
            _ => replicas,
        };
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
        let mut running = Vec::new();
        for _ in 0..brokers {
            let dependencies = Dependencies {
                clock: clock.clone(),
                ..Dependencies::default()
            };
            let broker = Broker::assemble(config.clone(), dependencies).expect("a broker");
            stack::silence_rocket();
            running.push(TestServer::launch(broker.rocket()).await);
        }
        let broker = FlawedBroker::new(flaw, clock.clone());
        let mut also = Vec::new();
        for ((front, url), target) in fronts.drain(..).zip(running.iter().cycle()) {
            proxy::forward(front, target.address, broker.clone());
            also.push(url);
        }
        also.remove(0);
        Self {
            control: control(clock, upstream.clone()),
            base_url,
            also,
            _brokers: running,
            _upstream: upstream,
        }
    }

    /// Plays the scenarios that cover one of these, with a few rounds of races at all
    /// replicas, or at the first alone.
    pub(crate) async fn race(
        &self,
        at_all: bool,
        requirements: &[Requirement],
    ) -> ConformanceReport {
        let also = self.also.iter().filter(|_| at_all).cloned().collect();
        let plan = TestPlan {
            races: Some(RacePlan { also, rounds: 24 }),
            ..self.plan()
        };
        run_some(&plan, requirements).await
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
            races: None,
        }
    }

    /// Tests the broker by that plan.
    pub(crate) async fn run(&self) -> ConformanceReport {
        self.run_some(Requirement::ALL).await
    }

    /// Plays the scenarios that cover one of these.
    pub(crate) async fn run_some(&self, requirements: &[Requirement]) -> ConformanceReport {
        run_some(&self.plan(), requirements).await
    }
}

pub(crate) async fn run(plan: &TestPlan) -> ConformanceReport {
    run_some(plan, Requirement::ALL).await
}

async fn run_some(plan: &TestPlan, requirements: &[Requirement]) -> ConformanceReport {
    let report = conformance::run_some(plan, requirements, &mut |_| {}).await;
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

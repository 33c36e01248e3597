//! A broker to hold against the contract: on a store of the test's choosing,
//! behind a proxy, with providers and a clock that a control address moves.

use std::sync::Arc;
use std::time::Duration;

use broker::clock::Clock;
use broker::cookie_cipher::CookieKey;
use broker::store::StoreUrl;
use broker::{Broker, Dependencies};
use conformance::browser::Browser;
use conformance::control::Control;
use conformance::{self, Expiry, Plan, Project, Report};
use mock_upstream::{Misbehaviour, MockUpstream, Next, Provider, User};
use serde_json::json;

use super::proxy::{self, After, Answered, Asked, Before};
use crate::assembly::{self, UPSTREAM_SECRET};
use testkit::backend::Backend;
use testkit::server::{TestServer, bind};

pub(crate) const CALLBACK: &str = "http://localhost:9/conformance";
pub(crate) const SECOND_CALLBACK: &str = "http://localhost:9/conformance/second";
pub(crate) const CLIENT_ID: &str = "conformance";
pub(crate) const OTHER_CLIENT_ID: &str = "conformance-other";
pub(crate) const SECRET: &str = "the-secret-of-the-project-that-is-played";
pub(crate) const OTHER_SECRET: &str = "the-secret-of-the-other-project";

pub(crate) struct Ground {
    pub(crate) base_url: String,
    pub(crate) control: String,
    _broker: TestServer,
    _upstream: Arc<MockUpstream>,
}

impl Ground {
    /// A broker in memory, behind these bends.
    pub(crate) async fn bent(before: Before, after: After) -> Self {
        Self::start(StoreUrl::SqliteMemory, before, after).await
    }

    pub(crate) async fn start(store: StoreUrl, before: Before, after: After) -> Self {
        testkit::leak_check::watch_log();
        let clock = Clock::system();
        let (front, base_url) = bind();
        let shown = clock.clone();
        let upstream_clock = mock_upstream::Clock::new(move || shown.now().0);
        let upstream = Arc::new(assembly::upstream(&base_url, upstream_clock).await);
        let (google, github) = (upstream.google().url(), upstream.github().url());
        let mut config = assembly::config(&base_url, google, github, UPSTREAM_SECRET);
        config.store.url = store;
        // PostgreSQL makes a broker insist on one.
        config.cookie_keys = vec![CookieKey::from_random(&broker::random::bytes32())];
        let callbacks = [CALLBACK, SECOND_CALLBACK];
        config.projects = [(CLIENT_ID, SECRET), (OTHER_CLIENT_ID, OTHER_SECRET)]
            .map(|(id, secret)| assembly::project(&backend(&base_url, id, secret), &callbacks))
            .into();
        let dependencies = Dependencies {
            clock: clock.clone(),
            ..Dependencies::default()
        };
        let broker = Broker::assemble(config, dependencies).expect("a broker");
        let broker = assembly::launch(broker).await;
        proxy::carry(front, broker.address, clock.clone(), before, after);
        Self {
            control: control(clock, upstream.clone()),
            base_url,
            _broker: broker,
            _upstream: upstream,
        }
    }

    /// What a run needs to try everything.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            base_url: self.base_url.clone(),
            project: project(CLIENT_ID, SECRET),
            other: Some(project(OTHER_CLIENT_ID, OTHER_SECRET)),
            browser: Browser::Automatic,
            control: Some(Control::at(&self.control)),
            expiry: Expiry::ByControl,
        }
    }

    /// Runs all of it.
    pub(crate) async fn judge(&self) -> Report {
        run(&self.plan()).await
    }
}

pub(crate) async fn run(plan: &Plan) -> Report {
    let report = conformance::run(plan, &mut |_| {}).await;
    report.expect("a broker that knows the project")
}

pub(crate) fn project(id: &str, secret: &str) -> Project {
    Project {
        client_id: id.to_owned(),
        client_secret: secret.to_owned(),
        callback: CALLBACK.to_owned(),
        second_callback: Some(SECOND_CALLBACK.to_owned()),
    }
}

fn backend(base_url: &str, id: &str, secret: &str) -> Backend {
    let project = json!({
        "client_id": id,
        "client_secret": secret,
        "redirect_uris": [CALLBACK],
    });
    Backend::of(base_url, &project)
}

/// As much of a control address as a run asks for.
fn control(clock: Clock, upstream: Arc<MockUpstream>) -> String {
    let (listener, url) = bind();
    proxy::serve(listener, move |asked| {
        let answered = obey(&clock, &upstream, &asked);
        async move { answered }
    });
    url
}

fn obey(clock: &Clock, upstream: &MockUpstream, asked: &Asked) -> Answered {
    let body = asked.json();
    let next = match asked.path.as_str() {
        "/api/clock/advance" => {
            let seconds = body["seconds"].as_u64().expect("whole seconds");
            clock.advance(Duration::from_secs(seconds));
            return Answered::of(200, "{}");
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
    Answered::of(201, "")
}

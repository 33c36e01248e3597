//! A broker that is called over HTTP, and its audit log.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use broker::Dependencies;
use broker::audit::{AuditLog, Event};
use broker::clock::Clock;
use broker::model::UnixMs;
use contract::Rule;
use serde_json::json;
use tokio::runtime::Runtime;

use super::body::Endpoint;
use super::reading;
use super::values::{CLIENT_ID, CLIENT_SECRET, callbacks};
use crate::test_broker::launch_in_thread;
use crate::test_broker::parts;
use testkit::backend::Backend;
use testkit::browser::UNSERVED;
use testkit::http::Http;
use testkit::server::{ServerThread, runtime};

/// A running broker with one project.
pub(super) struct Broker {
    runtime: Runtime,
    http: Http,
    url: String,
    rules: Rules,
    _process: ServerThread,
}

/// By request id, the rule that refused it.
type Rules = Arc<Mutex<HashMap<String, Option<&'static str>>>>;

/// The broker's verdict on a body.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) status: u16,
    /// The rule that refused it, whatever kind of rule that is.
    pub(super) rule: Option<String>,
    is_well_formed: bool,
}

impl Verdict {
    /// Whether no rule about the form of a body refused it.
    pub(super) fn is_well_formed(&self) -> bool {
        self.is_well_formed
    }
}

impl Broker {
    pub(super) fn start() -> Self {
        let rules = Rules::default();
        let dependencies = Dependencies {
            audit: AuditLog::new().subscribed(writing_to(rules.clone())),
            // In a long run keys would become free again.
            clock: Clock::fixed_at(UnixMs(1_800_000_000_000)),
            ..Dependencies::default()
        };
        let mut config = parts::config(UNSERVED, UNSERVED, UNSERVED, "secret");
        // Most bodies bear a wrong one.
        config.limits.wrong_secrets_per_minute = NonZeroU32::MAX;
        config.projects = vec![parts::project(
            &backend(),
            &callbacks().each_ref().map(|it| &**it),
        )];
        let runtime = runtime();
        let process = runtime.block_on(launch_in_thread(&config, dependencies));
        Self {
            runtime,
            http: Http::new(),
            url: format!("http://{}", process.address),
            rules,
            _process: process,
        }
    }

    pub(super) fn verdict(&self, endpoint: Endpoint, body: &str) -> Verdict {
        let url = format!("{}{}", self.url, endpoint.path());
        let request = self
            .http
            .post(url)
            .header("Content-Type", "application/json")
            .body(body.to_owned());
        let response = self.runtime.block_on(request.send());
        let id = response
            .header("x-request-id")
            .expect("every answer has one");
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let rule = rules.remove(id).expect("the audit log has it first");
        Verdict {
            status: response.status,
            is_well_formed: !rule.is_some_and(|rule| reading::is_about_form(endpoint, rule)),
            rule: rule.map(ToOwned::to_owned),
        }
    }
}

fn writing_to(rules: Rules) -> broker::audit::Subscriber {
    Arc::new(move |event: &Event| {
        let rule = event.rule.map(Rule::id);
        let mut rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.insert(event.request_id.clone(), rule);
    })
}

fn backend() -> Backend {
    let project = json!({
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": callbacks(),
    });
    Backend::of(UNSERVED, &project)
}

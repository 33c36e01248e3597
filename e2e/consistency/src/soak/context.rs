//! The state that users, nemesis and observer share: the brokers, the time, the log,
//! the counts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use agent::random::Random;
use agent::time::within;
use parking_lot::Mutex;
use reqwest::Method;
use tokio::sync::watch;

use super::statistics::{Exchanges, Statistics};
use crate::RunError;
use crate::audit_log::AuditLog;
use crate::client::Response;
use crate::cluster::Cluster;
use crate::provider::Providers;
use crate::recorder::{Endpoint, Recorder};
use crate::run::progress;
use checker::history::{History, Operation};

/// Longer than a line of the log takes to be read.
const LOG_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of violations that are printed in full.
const MAX_PRINTED: usize = 10;

/// The state that all parts of a soak share.
pub(super) struct Context {
    pub(super) recorder: Recorder,
    /// The brokers, through their proxies.
    pub(super) endpoints: Vec<Endpoint>,
    /// The brokers themselves: address and process.
    brokers: Mutex<Vec<(SocketAddr, u32)>>,
    pub(super) audit_log: AuditLog,
    pub(super) statistics: Mutex<Statistics>,
    pub(super) exchanges: Mutex<Exchanges>,
    /// Operations that a restart overlapped: what they did need not be in the log.
    unsettled: AtomicU64,
    pub(super) providers: Providers,
    /// The folder of the database, if it is a file.
    pub(super) folder: PathBuf,
    /// The number of logins that have begun.
    pub(super) begun: watch::Sender<u64>,
    pub(super) is_over: AtomicBool,
}

impl Context {
    pub(super) fn new(
        cluster: &Cluster,
        urls: Vec<String>,
        log: Option<PathBuf>,
    ) -> Result<Self, RunError> {
        Ok(Self {
            recorder: Recorder::new(cluster.clock.clone())?,
            endpoints: urls.into_iter().map(Endpoint::at).collect(),
            brokers: Mutex::new(cluster.addresses()?),
            audit_log: AuditLog::new(log),
            statistics: Mutex::default(),
            exchanges: Mutex::default(),
            unsettled: AtomicU64::new(0),
            providers: Providers::new(cluster.upstream.clone()),
            folder: cluster.folder().to_owned(),
            begun: watch::Sender::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    /// Any broker.
    pub(super) fn endpoint(&self, random: &mut Random) -> &Endpoint {
        random.pick(&self.endpoints)
    }

    /// Waits until every broker runs.
    pub(super) async fn wait_until_running(&self) {
        for endpoint in &self.endpoints {
            endpoint.wait_until_running().await;
        }
    }

    /// Asks what is on offer, which is always answered alike in form.
    pub(super) async fn list_providers(&self, random: &mut Random) {
        let url = format!("{}/api/providers", self.endpoint(random).url);
        let request = self.recorder.client.other(Method::GET, &url);
        let response = self.recorder.client.execute(request).await;
        self.check_contract(response.as_ref().ok());
    }

    /// Checks a response against the published contract, if it is a broker's.
    pub(super) fn check_contract(&self, response: Option<&Response>) {
        let response = response.filter(|it| it.request_id().is_some());
        let Some(response) = response else { return };
        if let Some(error) = response.contract_violation() {
            self.report(&format!("{:?}", response.unexpected(&error)), None);
        }
    }

    /// Checks a login that is over, once the log has all of it.
    pub(super) async fn check(&self, mut history: History, mut request_ids: Vec<String>) {
        if history.operations.iter().any(|it| !it.is_definite()) {
            request_ids.extend(self.later_requests().await);
        }
        let logged = within(LOG_TIMEOUT, self.audit_log.wait_for(&request_ids)).await;
        if logged.is_none() {
            self.report("an answer is not in the log", Some(&history));
        }
        history.audit = Some(self.audit_log.take(&history.login_id));
        let is_unsettled = |it: &&Operation| !it.is_settled;
        let unsettled = history.operations.iter().filter(is_unsettled).count();
        self.unsettled.fetch_add(unsettled as u64, Ordering::SeqCst);
        if let Err(violation) = checker::check(&history) {
            self.report(&violation, Some(&history));
        }
        self.statistics.lock().add(&history);
    }

    /// The ids of answers that every broker gave after all others: when they are in the
    /// log, so is everything that was not answered. They are refusals, because requests
    /// that are polled have no line while they succeed.
    async fn later_requests(&self) -> Vec<String> {
        let mut request_ids = Vec::new();
        for broker in 0..self.endpoints.len() {
            loop {
                self.endpoints[broker].wait_until_running().await;
                let url = format!("http://{}/v1/profile", self.address(broker));
                let request = self.recorder.client.other(Method::GET, &url);
                let response = self.recorder.client.execute(request).await;
                if let Some(id) = response.ok().as_ref().and_then(Response::request_id) {
                    request_ids.push(id.to_owned());
                    break;
                }
            }
        }
        request_ids
    }

    /// Reports what must not be in a log, and is.
    pub(super) fn check_log(&self) {
        for error in self.audit_log.take_errors() {
            self.report(&error, None);
        }
    }

    /// Compares the exchanges in the providers' journals with those in the log.
    pub(super) fn check_exchanges(&self) {
        let mut exchanges = self.exchanges.lock();
        exchanges.read(&self.providers.upstream);
        let logged = self.audit_log.exchanges();
        let (journal, log) = (exchanges.count(), logged.values().sum::<u64>());
        let unsettled = self.unsettled.load(Ordering::SeqCst);
        if !(log..=log + unsettled).contains(&journal) {
            self.report(
                &format!(
                    "{journal} exchanges are in the providers' journals, {log} in the log, and \
                     restarts explain {unsettled} of them at most: {:?}, {logged:?}",
                    exchanges.counts
                ),
                None,
            );
        }
    }

    /// Prints a violation, and counts it.
    pub(super) fn report(&self, what: &str, history: Option<&History>) {
        let history = history.map(ToString::to_string).unwrap_or_default();
        let violation = format!("{what}\n{history}");
        let mut statistics = self.statistics.lock();
        if statistics.violations.len() < MAX_PRINTED {
            progress(&format!("VIOLATION: {violation}"));
        }
        statistics.violations.push(violation);
    }

    /// A broker runs at another address from now on, as another process.
    pub(super) fn replace_broker(&self, broker: usize, address: SocketAddr, process: u32) {
        self.brokers.lock()[broker] = (address, process);
    }

    /// The address of a broker, past its proxy.
    pub(super) fn address(&self, broker: usize) -> SocketAddr {
        self.brokers.lock()[broker].0
    }

    /// The processes of the brokers.
    pub(super) fn processes(&self) -> Vec<u32> {
        let brokers = self.brokers.lock();
        brokers.iter().map(|(_, process)| *process).collect()
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

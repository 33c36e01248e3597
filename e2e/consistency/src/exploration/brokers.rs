//! The brokers to which transitions are played: real ones over HTTP, by a clock that stands
//! still between the steps; their log, their rows, and the providers.

use std::collections::BTreeSet;
use std::time::Duration;

use agent::time::within;
use testkit::leak_check;
use testkit::postgres::Durability;

use super::rows::Rows;
use crate::RunError;
use crate::audit_log::{AuditLog, Logged};
use crate::client::Response;
use crate::cluster::{Cluster, Database, Engine, Logging, STILL_AT};
use crate::provider::{Providers, imitated};
use crate::recorder::{Call, Endpoint, Recorder};
use checker::history::{AuditRecord, Operation, Outcome};
use checker::model::Provider;

/// Longer than anything is known that a history leaves behind.
const BETWEEN_HISTORIES: Duration = Duration::from_secs(3_600);

/// Longer than a line of the log takes to be read.
const LOG_TIMEOUT: Duration = Duration::from_secs(60);

/// Brokers on one database, asked in turn.
pub(crate) struct Brokers {
    pub(crate) cluster: Cluster,
    pub(crate) recorder: Recorder,
    pub(crate) providers: Providers,
    log: AuditLog,
    rows: Rows,
    /// The rules in the log.
    pub(crate) rules: BTreeSet<String>,
    /// The number of histories that have begun.
    pub(crate) histories: u64,
    requests: usize,
}

impl Brokers {
    /// Starts the brokers of an engine: two where several can share a database.
    pub(crate) async fn start(engine: Engine) -> Result<Self, RunError> {
        let count = engine.brokers(None);
        let database = Database::start(engine, Durability::Relaxed)?;
        let cluster = Cluster::start_on(database, count, Logging::On, Some(STILL_AT));
        let mut cluster = cluster.await?;
        let log = AuditLog::new(None);
        for (number, broker) in cluster.brokers.iter_mut().enumerate() {
            log.follow(number, broker.take_log())?;
        }
        Ok(Self {
            rows: Rows::of(&cluster).await?,
            recorder: Recorder::new(cluster.clock.clone())?,
            providers: Providers::new(cluster.upstream.clone()),
            cluster,
            log,
            rules: BTreeSet::new(),
            histories: 0,
            requests: 0,
        })
    }

    /// Lets everything end that the last history left behind.
    pub(crate) async fn begin_history(&mut self) -> Result<(), RunError> {
        self.histories += 1;
        self.cluster.upstream.reset();
        self.cluster.advance(BETWEEN_HISTORIES).await
    }

    /// Moves the clock of all.
    pub(crate) async fn advance_ms(&mut self, ms: i64) -> Result<(), RunError> {
        let ms = u64::try_from(ms)?;
        self.cluster.advance(Duration::from_millis(ms)).await
    }

    /// Makes a call of the next broker, and checks the response as every suite does.
    pub(crate) async fn perform(&mut self, call: &Call) -> Result<(Operation, Response), RunError> {
        self.requests += 1;
        let broker = self.requests % self.cluster.brokers.len();
        let recorded = self.recorder.perform(&self.endpoint(broker), call).await;
        let response = recorded.response.ok_or("no complete response")?;
        if let Outcome::Unexpected(what) = recorded.operation.outcome {
            return Err(what.into());
        }
        match leak_check::in_response(&response.as_tested()) {
            Some(leak) => Err(format!("{leak} in {response:?}").into()),
            None => Ok((recorded.operation, response)),
        }
    }

    /// One of the brokers, as clients reach it.
    pub(crate) fn endpoint(&self, broker: usize) -> Endpoint {
        Endpoint::at(self.cluster.brokers[broker].url.clone())
    }

    /// Kills the first broker, and starts another on the database.
    pub(crate) async fn crash(&mut self) -> Result<(), RunError> {
        self.cluster.restart(0).await?;
        self.log.follow(0, self.cluster.brokers[0].take_log())?;
        Ok(())
    }

    /// The lines of the log about a response.
    pub(crate) async fn logged(&mut self, response: &Response) -> Result<Logged, RunError> {
        let id = response.request_id().ok_or("a response without an id")?;
        let read = self.log.answer(id);
        let logged = within(LOG_TIMEOUT, read).await.flatten();
        let logged = logged.ok_or("an answer that is not in the log")?;
        self.rules.insert(logged.rule.clone());
        Ok(logged)
    }

    /// The rows now, one line each.
    pub(crate) async fn rows(&self) -> Result<Vec<String>, RunError> {
        self.rows.at(self.cluster.clock.now().0).await
    }

    /// Takes the lines about a login out of the log.
    pub(crate) fn take_record(&self, login: &str) -> AuditRecord {
        self.log.take(login)
    }

    /// The number of codes that were exchanged with a provider in this history.
    pub(crate) fn exchanges(&self) -> usize {
        let upstream = &self.cluster.upstream;
        let journals = Provider::ALL.map(|it| upstream.provider(imitated(it)).journal());
        let entries = journals.iter().flatten();
        entries
            .filter(|entry| entry.method == "POST" && entry.path.contains("token"))
            .count()
    }
}

//! Sends calls to brokers and records them as operations.

use std::time::Duration;

use agent::time::Stopwatch;
use broker::clock::Clock;
use tokio::sync::{RwLock, watch};

use crate::RunError;
use crate::client::{Client, Request, Response};
use checker::history::{Operation, Outcome};
use checker::model::{Interval, Step};

/// The clocks by which operations are recorded, and the client that sends them.
pub(crate) struct Recorder {
    pub(crate) client: Client,
    /// The clock of the brokers.
    pub(crate) clock: Clock,
    /// Held for reading during a call, for writing while the clock is moved.
    pub(crate) clock_moves: RwLock<()>,
    /// Operations are ordered by a clock that never jumps.
    begin: Stopwatch,
}

/// A broker of the cluster, as clients reach it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// Its URL, without a trailing slash.
    pub(crate) url: String,
    /// Counts its starts and ends: odd while it does not run.
    generation: watch::Sender<u64>,
}

/// A step, and the request that asks for it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) step: Step,
    pub(crate) request: Request,
}

impl Call {
    /// The login that it has started, if it was answered so.
    pub(crate) fn started(&self, response: &Response) -> Option<u8> {
        match self.step {
            Step::Start { login, .. } if response.status == 200 => Some(login),
            _ => None,
        }
    }

    /// The upstream login that it has begun, if it was answered so.
    pub(crate) fn began(&self, response: &Response) -> Option<u8> {
        self.step.begins().filter(|_| response.leads_to_provider())
    }
}

/// An operation, and the response with its secrets.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) operation: Operation,
    pub(crate) response: Option<Response>,
}

impl Endpoint {
    /// A running broker.
    pub(crate) fn at(url: String) -> Self {
        Self {
            url,
            generation: watch::Sender::new(0),
        }
    }

    /// Notes that the broker ends, or runs again.
    pub(crate) fn change(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Waits until the broker runs.
    pub(crate) async fn wait_until_running(&self) {
        let mut generation = self.generation.subscribe();
        // It cannot fail: we hold the sender.
        let _ = generation.wait_for(|it| it.is_multiple_of(2)).await;
    }

    fn generation(&self) -> u64 {
        *self.generation.borrow()
    }
}

impl Recorder {
    pub(crate) fn new(clock: Clock) -> Result<Self, RunError> {
        Ok(Self {
            client: Client::new()?,
            clock,
            clock_moves: RwLock::default(),
            begin: Stopwatch::start(),
        })
    }

    /// Sends `call` to a broker.
    pub(crate) async fn perform(&self, broker: &Endpoint, call: &Call) -> Recorded {
        let before = broker.generation();
        let (mut operation, response) = self
            .record(call.step, async || {
                let response = self.client.send(&broker.url, &call.request).await;
                response.filter(|it| it.request_id().is_some())
            })
            .await;
        operation.is_settled = before.is_multiple_of(2) && before == broker.generation();
        if let Some(response) = &response {
            operation.outcome = response.outcome(call.step);
        }
        Recorded {
            operation,
            response,
        }
    }

    /// Runs `action` and records when, as an operation without an answer.
    pub(crate) async fn record<T>(
        &self,
        step: Step,
        action: impl AsyncFnOnce() -> T,
    ) -> (Operation, T) {
        let _one_time = self.clock_moves.read().await;
        let (invoked_ns, earliest_ms) = (self.now_ns(), self.clock.now().0);
        let result = action().await;
        let operation = Operation {
            steps: vec![step],
            invoked_ns,
            completed_ns: self.now_ns(),
            clock: Interval {
                earliest_ms,
                latest_ms: self.clock.now().0,
            },
            is_settled: true,
            outcome: Outcome::Unknown,
        };
        (operation, result)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

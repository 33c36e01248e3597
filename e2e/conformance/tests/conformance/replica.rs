//! One replica of a broker that is wrong about several requests at once.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use reqwest::Client;
use tokio::sync::RwLock;

use super::flaws::REVOKE;
use super::proxy::{self, FlawedBroker, ProxiedRequest, ProxiedResponse};
use testkit::http::client;

/// The way in which a broker is wrong about requests that come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Race {
    /// It looks whether a value was used, and only later notes that it was.
    CheckThenDelete,
    /// The same under a lock, which each replica has for itself.
    LockPerReplica,
    /// Each replica keeps for itself what was used.
    OwnMemory,
    /// It answers while other requests are under way, and commits after them.
    AnswerBeforeCommit,
    /// A read that waits for the browser's return consumes the result, and calls it pending.
    StaleRead,
    /// A profile that is read while a revocation waits is kept for after it.
    StaleCache,
}

/// The state of one replica.
pub(crate) struct Replica {
    http: Client,
    target: SocketAddr,
    lock: tokio::sync::Mutex<()>,
    /// Held for writing while a browser comes back, or a revocation is committed.
    browser: RwLock<()>,
    answered: Mutex<BTreeSet<String>>,
    under_way: AtomicUsize,
    uncommitted: Mutex<Vec<ProxiedRequest>>,
}

impl Replica {
    pub(crate) fn new(target: SocketAddr) -> Self {
        Self {
            http: client(),
            target,
            lock: tokio::sync::Mutex::default(),
            browser: RwLock::default(),
            answered: Mutex::default(),
            under_way: AtomicUsize::default(),
            uncommitted: Mutex::default(),
        }
    }

    async fn send(&self, request: &ProxiedRequest) -> ProxiedResponse {
        proxy::send(&self.http, self.target, request).await
    }

    /// Forwards a request, and commits what other requests had to wait for it.
    pub(crate) async fn pass(
        &self,
        broker: &FlawedBroker,
        request: &ProxiedRequest,
    ) -> ProxiedResponse {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        let browser = request.is_upstream_callback().then(|| self.browser.write());
        let _coming = match browser {
            Some(browser) => Some(browser.await),
            None => None,
        };
        let response = self.send(request).await;
        broker.memory().note(request, &response);
        if self.under_way.fetch_sub(1, Ordering::SeqCst) == 1 {
            let uncommitted = std::mem::take(&mut *self.uncommitted.lock());
            for request in uncommitted {
                self.send(&request).await;
            }
        }
        response
    }

    /// Forwards a request about which the broker is wrong.
    pub(crate) async fn race(
        &self,
        race: Race,
        broker: &FlawedBroker,
        request: &ProxiedRequest,
    ) -> ProxiedResponse {
        if race == Race::AnswerBeforeCommit && self.under_way.load(Ordering::SeqCst) > 0 {
            self.uncommitted.lock().push(request.clone());
            return ProxiedResponse::of(200, "{}");
        }
        if race == Race::StaleRead {
            let is_stale = self.browser.try_read().is_err();
            drop(self.browser.read().await);
            let response = self.pass(broker, request).await;
            return match is_stale && response.status == 200 {
                true => ProxiedResponse::of(200, r#"{"status":"pending"}"#),
                false => response,
            };
        }
        if race == Race::StaleCache && request.is_at(REVOKE) {
            let _committing = self.browser.write().await;
            return self.pass(broker, request).await;
        }
        if race == Race::StaleCache {
            let _under_way = self.browser.read().await;
            return self.pass(broker, request).await;
        }
        let is_locked = matches!(race, Race::LockPerReplica | Race::OwnMemory);
        let alone = is_locked.then(|| self.lock.lock());
        let _alone = match alone {
            Some(alone) => Some(alone.await),
            None => None,
        };
        let is_unused = match race {
            Race::OwnMemory => self.answered.lock().insert(request.key()),
            _ => broker.memory().answer_to(request).is_none(),
        };
        let response = self.pass(broker, request).await;
        let known = broker.memory().answer_to(request).cloned();
        let sold_again = known.filter(|_| is_unused && response.status >= 400);
        sold_again.unwrap_or(response)
    }
}

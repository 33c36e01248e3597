//! What everybody shares: the way to the broker, the time, the judge, and what is
//! counted.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use broker::clock::Clock;
use reqwest::Method;
use stack::proxy::Proxy;
use tokio::sync::{RwLock, watch};

use super::judge::{People, judge};
use super::ledger::Ledger;
use super::provider::Providers;
use super::story::{Deed, Story, Telling};
use super::tally::Tally;
use super::told::Told;
use crate::Failure;
use crate::client::{Answer, Client, Request};
use crate::fleet::Fleet;

/// Longer than a line of the log takes to be read.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many of a kind of violation are told in full.
const MOST_TOLD: usize = 10;

/// What everybody shares.
pub(crate) struct Stage {
    pub(crate) client: Client,
    /// The broker, through the wire.
    pub(crate) url: String,
    pub(crate) clock: Clock,
    begin: Instant,
    /// Held for reading during a call: what is judged by time knows it.
    pub(crate) time: RwLock<()>,
    /// Odd while no broker is there.
    generation: watch::Sender<u64>,
    pub(crate) ledger: Ledger,
    pub(crate) tally: Mutex<Tally>,
    people: Mutex<People>,
    pub(crate) providers: Providers,
    /// Where the broker's database is.
    pub(crate) folder: PathBuf,
    /// Where the broker is, and which process.
    broker: Mutex<(Option<SocketAddr>, u32)>,
    /// How many logins have begun.
    pub(crate) begun: watch::Sender<u64>,
    pub(crate) is_over: AtomicBool,
}

impl Stage {
    #[expect(
        clippy::disallowed_methods,
        reason = "calls are ordered by a clock that never jumps"
    )]
    pub(crate) fn new(fleet: &Fleet, wire: &Proxy, ledger: Ledger) -> Result<Arc<Self>, Failure> {
        Ok(Arc::new(Self {
            client: Client::new()?,
            url: format!("http://{}", wire.address),
            clock: fleet.clock.clone(),
            begin: Instant::now(),
            time: RwLock::default(),
            generation: watch::Sender::new(0),
            ledger,
            tally: Mutex::default(),
            people: Mutex::default(),
            providers: Providers::new(fleet.upstream.clone()),
            folder: fleet.folder().to_owned(),
            broker: Mutex::default(),
            begun: watch::Sender::new(0),
            is_over: AtomicBool::new(false),
        }))
    }

    /// Sends `request`, and remembers what is told.
    pub(crate) async fn ask(
        &self,
        story: &mut Story,
        deed: Deed,
        request: &Request,
    ) -> Option<Answer> {
        let (telling, answer) = self.telling(deed, request).await;
        story.take(telling, answer.as_ref());
        answer
    }

    /// The same for whoever asks while others do.
    pub(crate) async fn telling(&self, deed: Deed, request: &Request) -> (Telling, Option<Answer>) {
        let _at_one_time = self.time.read().await;
        let before = self.generation();
        let (asked_ns, asked_ms) = (self.now_ns(), self.clock.now().0);
        let request = self.client.request(&self.url, request);
        let answer = self.client.ask(request).await;
        let answer = answer.ok().filter(|it| it.request_id().is_some());
        let told = Told::of(deed, answer.as_ref());
        self.hold_against_contract(answer.as_ref());
        self.tally().told(deed, &told);
        let telling = Telling {
            deed,
            asked_ns,
            told_ns: self.now_ns(),
            asked_ms,
            told_ms: self.clock.now().0,
            is_settled: before.is_multiple_of(2) && before == self.generation(),
            told,
        };
        (telling, answer)
    }

    /// Asks what is on offer, which is always answered alike in form.
    pub(crate) async fn look_at_providers(&self) {
        let url = format!("{}/api/providers", self.url);
        let answer = self.client.ask(self.client.other(Method::GET, &url)).await;
        let answer = answer.ok().filter(|it| it.request_id().is_some());
        self.hold_against_contract(answer.as_ref());
    }

    /// Notes what the published contract does not show.
    pub(crate) fn hold_against_contract(&self, answer: Option<&Answer>) {
        let Some(answer) = answer else { return };
        let (method, path) = &answer.asked;
        let seen = testkit::http::Response {
            status: answer.status,
            headers: answer.headers.clone(),
            body: answer.body.as_bytes().to_vec(),
        };
        let complaint = testkit::openapi::check(method, path, &seen).err();
        let status = answer.status;
        let complaint = match status {
            500 => Some("a fault of the broker's".to_owned()),
            _ => complaint,
        };
        if let Some(why) = complaint {
            let operation = path.rsplit_once("/login/").map_or(&**path, |_| "/login/…");
            self.violated(
                &format!("{method} {operation} answered {status}: {why}"),
                None,
            );
        }
    }

    /// Judges a story that is over, once the log has told all of it.
    pub(crate) async fn close(&self, story: &Story) {
        let mut request_ids = story.request_ids.clone();
        if story.tellings.iter().any(|it| it.told.is_open()) {
            request_ids.push(self.something_later().await);
        }
        if !in_time(self.ledger.knows(&request_ids)).await {
            self.violated("an answer is not in the log", Some(story));
        }
        let facts = self.ledger.close(&story.login);
        let wrong = {
            let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
            judge(story, &facts, &mut people)
        };
        for violation in wrong {
            self.violated(&format!("{violation} ({facts:?})"), Some(story));
        }
        self.tally().closed(story);
    }

    /// How the log names an answer that came after all others. Of those that nobody
    /// heard, everything stands in the log before it.
    async fn something_later(&self) -> String {
        loop {
            self.is_there().await;
            let Some(address) = self.broker_address() else {
                continue;
            };
            let url = format!("http://{address}/api/providers");
            let answer = self.client.ask(self.client.other(Method::GET, &url)).await;
            if let Some(request_id) = answer.ok().as_ref().and_then(Answer::request_id) {
                return request_id.to_owned();
            }
        }
    }

    /// Tells of a violation, and counts it.
    pub(crate) fn violated(&self, what: &str, story: Option<&Story>) {
        let history = story.map(ToString::to_string).unwrap_or_default();
        let violation = format!("{what}\n{history}");
        let mut tally = self.tally();
        if tally.violations.len() < MOST_TOLD {
            crate::report::say(&format!("VIOLATION: {violation}"));
        }
        tally.violations.push(violation);
    }

    /// The broker goes, or another one is there.
    pub(crate) fn changes(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Waits until a broker is there.
    pub(crate) async fn is_there(&self) {
        let mut generation = self.generation.subscribe();
        // It cannot fail: we hold the sender.
        let _ = generation.wait_for(|it| it.is_multiple_of(2)).await;
    }

    fn generation(&self) -> u64 {
        *self.generation.borrow()
    }

    /// The broker is at `address` from now on.
    pub(crate) fn moved_to(&self, address: SocketAddr) {
        self.broker().0 = Some(address);
    }

    /// The broker is this process from now on.
    pub(crate) fn watch_process(&self, process: u32) {
        self.broker().1 = process;
    }

    /// Where the broker itself is, past the wire.
    pub(crate) fn broker_address(&self) -> Option<SocketAddr> {
        self.broker().0
    }

    /// The broker's process.
    pub(crate) fn process(&self) -> u32 {
        self.broker().1
    }

    fn broker(&self) -> MutexGuard<'_, (Option<SocketAddr>, u32)> {
        self.broker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "calls are ordered by a clock that never jumps"
    )]
    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "waits for another process, which no clock of ours moves"
)]
async fn in_time(known: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(PATIENCE, known).await.is_ok()
}

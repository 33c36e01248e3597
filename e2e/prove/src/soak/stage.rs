//! What everybody shares: the way to the broker, the time, the providers, and what
//! is counted.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use broker::clock::Clock;
use e2e::wire::Wire;
use mock_upstream::{Misbehaviour, MockUpstream, Next, Provider, people};
use reqwest::Method;
use tokio::sync::{RwLock, watch};

use super::judge::{People, judge};
use super::ledger::Ledger;
use super::story::{Cast, Deed, Story, Telling, Told};
use super::tally::Tally;
use crate::Failure;
use crate::chance::Chance;
use crate::client::{Answer, Client, Request};
use crate::fleet::Fleet;

/// Longer than a line of the log takes to be read.
const PATIENCE: Duration = Duration::from_secs(60);

/// For how long the keys may be in trouble that another login was to meet: as long
/// as the provider keeps it ready, and the broker remembers a failure.
const SHADOW_MS: i64 = 13_000;

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
    /// One at a time, so that whoever writes the script is who it is for.
    google: tokio::sync::Mutex<()>,
    github: tokio::sync::Mutex<()>,
    upstream: Arc<MockUpstream>,
    /// Where the broker's database is.
    pub(crate) folder: PathBuf,
    /// Where the broker is, and which process.
    broker: Mutex<(Option<SocketAddr>, u32)>,
    keys_in_trouble_until_ms: AtomicI64,
    /// How many logins have begun.
    pub(crate) begun: watch::Sender<u64>,
    pub(crate) is_over: AtomicBool,
}

impl Stage {
    #[expect(
        clippy::disallowed_methods,
        reason = "calls are ordered by a clock that never jumps"
    )]
    pub(crate) fn new(fleet: &Fleet, wire: &Wire, ledger: Ledger) -> Result<Arc<Self>, Failure> {
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
            google: tokio::sync::Mutex::default(),
            github: tokio::sync::Mutex::default(),
            upstream: fleet.upstream.clone(),
            folder: fleet.folder().to_owned(),
            broker: Mutex::default(),
            keys_in_trouble_until_ms: AtomicI64::new(0),
            begun: watch::Sender::new(0),
            is_over: AtomicBool::new(false),
        }))
    }

    /// A browser comes back from the trip of `cast`. Keys that are in trouble for it
    /// may be so for others.
    pub(crate) async fn come_back(
        &self,
        deed: Deed,
        cast: &Cast,
        arrival: &Request,
    ) -> (Telling, Option<Answer>) {
        let is_trouble = cast.misbehaviour.is_some_and(|it| it.starts_with("keys_"));
        if is_trouble {
            self.shade();
        }
        let back = self.telling(deed, arrival).await;
        if is_trouble {
            self.shade();
        }
        back
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
        let seen = published::Answer {
            status: answer.status,
            headers: &answer.headers,
            body: &answer.body,
        };
        let complaint = published::judge(method, path, &seen).err();
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

    /// Sends a browser from `departure` to its provider, where somebody signs in, or
    /// something goes wrong. What it comes back with, and whose trip it is.
    pub(crate) async fn cast(
        &self,
        story: &mut Story,
        departure: &Answer,
        chance: &mut Chance,
    ) -> Result<(Deed, Request), Failure> {
        let provider = story.provider;
        let (next, cast) = self.script(provider, chance);
        let trip = story.casts.len();
        story.casts.push(cast);
        let _alone = match provider {
            Provider::Google => self.google.lock().await,
            Provider::GitHub => self.github.lock().await,
        };
        self.upstream.provider(provider).queue(next)?;
        let arrive = crate::client::at_provider(&self.client, departure).await?;
        Ok((Deed::Return(trip), arrive))
    }

    fn script(&self, provider: Provider, chance: &mut Chance) -> (Next, Cast) {
        let seeded = people::seeded();
        let person = seeded[chance.below(seeded.len())].at(provider).clone();
        let cast = Cast {
            id: person.id.clone(),
            at_ms: self.clock.now().0,
            misbehaviour: None,
            errors: Vec::new(),
            is_shadowed: false,
        };
        if chance.below(3) > 0 {
            return (Next::Person(person), cast);
        }
        let all = Misbehaviour::of(provider);
        let mut what = all[chance.below(all.len())];
        // Each of them casts a shadow on all that begin meanwhile.
        if troubles_keys(what) && chance.below(30) > 0 {
            what = Misbehaviour::Deny;
        }
        self.tally().misbehaved(what.name());
        let cast = Cast {
            id: people::ada().at(provider).id.clone(),
            misbehaviour: Some(what.name()),
            errors: errors(what),
            ..cast
        };
        (Next::Misbehave(what), cast)
    }

    /// Notes whether keys in trouble may have spoiled the trip that has come back.
    pub(crate) fn shadow(&self, story: &mut Story, deed: Deed) {
        let until_ms = self.keys_in_trouble_until_ms.load(Ordering::SeqCst);
        let returns = story.of(|it| it == deed);
        let is_shadowed = returns.iter().any(|it| it.asked_ms <= until_ms);
        if let Some(cast) = story.casts.last_mut() {
            cast.is_shadowed |= is_shadowed;
        }
    }

    fn shade(&self) {
        let until_ms = self.clock.now().0 + SHADOW_MS;
        self.keys_in_trouble_until_ms
            .fetch_max(until_ms, Ordering::SeqCst);
    }

    /// Judges a story that is over, once the log has told all of it.
    pub(crate) async fn close(&self, story: &Story) {
        let known = self.ledger.knows(&story.request_ids);
        if !in_time(known).await {
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

/// The errors with which a login may end that meets `what`. Who looks for keys
/// again, and when, depends on whoever looked before.
fn errors(what: Misbehaviour) -> Vec<&'static str> {
    match what.error() {
        Some(_) if troubles_keys(what) || what.name() == "unknown_kid" => {
            vec!["invalid_provider_response", "provider_unavailable"]
        }
        error => error.into_iter().collect(),
    }
}

fn troubles_keys(what: Misbehaviour) -> bool {
    ["keys_500", "keys_timeout", "stale_keys"].contains(&what.name())
}

#[expect(
    clippy::disallowed_methods,
    reason = "waits for another process, which no clock of ours moves"
)]
async fn in_time(known: impl Future<Output = ()>) -> bool {
    tokio::time::timeout(PATIENCE, known).await.is_ok()
}

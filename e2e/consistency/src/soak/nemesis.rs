//! The faults of a soak: the proxies lose answers, the clock jumps, and brokers
//! are stopped or killed and started again on their database.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agent::random::Random;
use stack::faults::{Fault, FaultInjection};
use stack::operation::BrokerOperation;
use stack::proxy::{Proxy, ProxyState};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use super::context::Context;
use super::statistics::count;
use crate::RunError;
use crate::cluster::Cluster;
use crate::cluster::replica::Replica;
use crate::resources::Resources;

/// The average number of logins between two faults of each kind.
const LOGINS_PER_FAULT: u64 = 4;
const LOGINS_PER_MOVE: u64 = 60;

/// Faults that stick to a login stay for good; after this many all of them are cleared.
const FAULTS_PER_CLEARING: u64 = 200;

/// A proxy in front of each broker, and the faults of all of them.
pub(super) struct Proxies {
    proxies: Vec<Proxy>,
    state: Arc<ProxyState>,
}

/// Injects the faults into proxies, clock and brokers.
pub(super) struct Nemesis {
    context: Arc<Context>,
    cluster: Cluster,
    proxies: Proxies,
    /// Read the logs of the present brokers.
    readers: Vec<JoinHandle<()>>,
    random: Random,
}

/// The logins at which each kind of fault is due.
struct Due {
    fault: u64,
    advance: u64,
    restart: u64,
}

impl Proxies {
    pub(super) fn start(cluster: &Cluster) -> Result<Self, RunError> {
        let state = Arc::new(ProxyState::default());
        let mut proxies = Vec::new();
        for (address, _) in cluster.addresses()? {
            let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
            proxies.push(Proxy::start(listener, address, state.clone())?);
        }
        Ok(Self { proxies, state })
    }

    pub(super) fn urls(&self) -> Vec<String> {
        let urls = self
            .proxies
            .iter()
            .map(|it| format!("http://{}", it.address));
        urls.collect()
    }
}

impl Nemesis {
    pub(super) fn new(
        context: Arc<Context>,
        mut cluster: Cluster,
        proxies: Proxies,
        random: Random,
    ) -> Result<Self, RunError> {
        let brokers = cluster.brokers.iter_mut();
        let logs = brokers.map(Replica::take_log).enumerate();
        let readers = logs.map(|(broker, log)| context.audit_log.follow(broker, log));
        let readers = readers.collect::<Result<_, _>>()?;
        tokio::spawn(count_faults(context.clone(), proxies.state.clone()));
        Ok(Self {
            context,
            cluster,
            proxies,
            readers,
            random,
        })
    }

    /// Strikes until the run is over. Brokers are restarted, once in so many logins,
    /// while `may_restart`.
    pub(super) async fn disturb_until_over(
        mut self,
        logins_per_restart: u64,
        may_restart: impl Fn() -> bool + Send,
    ) -> Result<Self, RunError> {
        let mut begun = self.context.begun.subscribe();
        let mut due = Due {
            fault: 1,
            advance: LOGINS_PER_MOVE,
            restart: logins_per_restart,
        };
        loop {
            let next = due.fault.min(due.advance).min(due.restart);
            let now = *begun.wait_for(|begun| *begun >= next).await?;
            if self.context.is_over() {
                return Ok(self);
            }
            if now >= due.fault {
                due.fault = now + self.about(LOGINS_PER_FAULT);
                self.arm_fault();
            }
            if now >= due.advance {
                due.advance = now + self.about(LOGINS_PER_MOVE);
                self.advance_clock().await?;
            }
            if now >= due.restart {
                due.restart = now + self.about(logins_per_restart);
                if may_restart() {
                    self.restart().await?;
                }
            }
        }
    }

    /// A number around `average`, at least 1.
    fn about(&mut self, average: u64) -> u64 {
        1 + self.random.below(2 * usize::try_from(average).unwrap_or(1)) as u64
    }

    fn arm_fault(&mut self) {
        let operations: Vec<_> = BrokerOperation::all().collect();
        let operation = *self.random.pick(&operations);
        // An answer of the nemesis' own would be one that no broker gives.
        let is_injected = |fault: &Fault| fault.ends_soon() && *fault != Fault::Answer;
        let faults: Vec<_> = Fault::ALL.iter().copied().filter(is_injected).collect();
        let fault = *self.random.pick(&faults);
        let nth = u32::try_from(1 + self.random.below(4)).unwrap_or(1);
        let order = FaultInjection {
            delay: Duration::from_millis(20 + self.random.below(400) as u64),
            sticky: self.random.one_in(10),
            ..FaultInjection::next(operation, fault).nth(nth)
        };
        let id = self.proxies.state.faults.arm(order);
        if id.is_multiple_of(FAULTS_PER_CLEARING) {
            self.proxies.state.faults.clear();
        }
    }

    /// No call is under way when the clock jumps: its time is known.
    async fn advance_clock(&mut self) -> Result<(), RunError> {
        let (least, more) = match self.random.below(10) {
            0..5 => (1, 20),
            5..8 => (20, 100),
            _ => (300, 1_000),
        };
        let seconds = least + self.random.below(more) as u64;
        let context = self.context.clone();
        let _alone = context.recorder.clock_moves.write().await;
        context.statistics.lock().add_clock_move(seconds);
        self.cluster.advance(Duration::from_secs(seconds)).await
    }

    /// Kills or stops one of the brokers, and starts it again.
    async fn restart(&mut self) -> Result<(), RunError> {
        let broker = self.random.below(self.cluster.brokers.len());
        self.context.endpoints[broker].change();
        if self.random.one_in(2) {
            self.context.statistics.lock().killed += 1;
            self.cluster.brokers[broker].process.stop();
        } else {
            self.context.statistics.lock().stopped += 1;
            self.cluster.brokers[broker].stop().await?;
        }
        (&mut self.readers[broker]).await?;
        // Nothing moves the clock meanwhile: that is our part, too.
        self.cluster.restart(broker).await?;
        let (address, process) = self.cluster.addresses()?[broker];
        self.proxies.proxies[broker].retarget(address);
        self.context.replace_broker(broker, address, process);
        let log = self.cluster.brokers[broker].take_log();
        self.readers[broker] = self.context.audit_log.follow(broker, log)?;
        self.context.endpoints[broker].change();
        Ok(())
    }

    /// The resources at the end; afterwards all brokers have stopped, and their logs are
    /// read.
    pub(super) async fn end(mut self) -> Result<Resources, RunError> {
        let resources = Resources::of(self.context.processes(), &self.context.folder)?;
        for broker in &mut self.cluster.brokers {
            broker.stop().await?;
        }
        for reader in self.readers {
            reader.await?;
        }
        Ok(resources)
    }
}

impl Cluster {
    /// The address and the process of each broker.
    pub(super) fn addresses(&self) -> Result<Vec<(SocketAddr, u32)>, RunError> {
        let mut addresses = Vec::new();
        for broker in &self.brokers {
            let address = broker.url.strip_prefix("http://");
            let address = address.ok_or("a broker writes its address")?.parse()?;
            addresses.push((address, broker.process.id()));
        }
        Ok(addresses)
    }
}

async fn count_faults(context: Arc<Context>, state: Arc<ProxyState>) {
    let mut events = state.event_log.subscribe();
    loop {
        match events.recv().await {
            Ok(event) => {
                if let Some(fault) = event.fault {
                    count(&mut context.statistics.lock().faults, fault);
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

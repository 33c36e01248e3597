//! What goes wrong meanwhile: answers are lost on the wire, the clock jumps, and
//! brokers are stopped or killed and started again on what they have left.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use stack::faults::{Fault, FaultInjection};
use stack::operation::BrokerOperation;
use stack::proxy::{Proxy, ProxyState};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

use super::stage::Stage;
use super::vitals::Vitals;
use crate::Failure;
use crate::chance::Chance;
use crate::fleet::Fleet;

/// How many logins begin between one of each kind of trouble and the next, on
/// average.
const LOGINS_PER_FAULT: u64 = 4;
const LOGINS_PER_MOVE: u64 = 60;

/// Faults that stick to a login stay for good; so often all of them go.
const FAULTS_PER_CLEARING: u64 = 200;

/// Whoever makes the trouble, and what it strikes.
pub(crate) struct Trouble {
    pub(crate) stage: Arc<Stage>,
    pub(crate) fleet: Fleet,
    pub(crate) wire: Proxy,
    pub(crate) watch: Arc<ProxyState>,
    /// Reads the log of the present broker.
    reader: JoinHandle<()>,
    chance: Chance,
}

/// When each kind is due: at which login.
struct Due {
    fault: u64,
    advance: u64,
    restart: u64,
}

impl Trouble {
    pub(crate) fn new(
        stage: Arc<Stage>,
        mut fleet: Fleet,
        wire: Proxy,
        watch: Arc<ProxyState>,
        chance: Chance,
    ) -> Result<Self, Failure> {
        let reader = follow(&stage, &mut fleet)?;
        tokio::spawn(count_faults(stage.clone(), watch.clone()));
        Ok(Self {
            stage,
            fleet,
            wire,
            watch,
            reader,
            chance,
        })
    }

    /// Makes trouble until it is over. Brokers are restarted, once in so many logins,
    /// while `may_restart`: one that lives long shows what it leaks.
    pub(crate) async fn go_on(
        mut self,
        logins_per_restart: u64,
        may_restart: impl Fn() -> bool + Send,
    ) -> Result<Self, Failure> {
        let mut begun = self.stage.begun.subscribe();
        let mut due = Due {
            fault: 1,
            advance: LOGINS_PER_MOVE,
            restart: logins_per_restart,
        };
        loop {
            let next = due.fault.min(due.advance).min(due.restart);
            let now = *begun.wait_for(|begun| *begun >= next).await?;
            if self.stage.is_over() {
                return Ok(self);
            }
            if now >= due.fault {
                due.fault = now + self.about(LOGINS_PER_FAULT);
                self.arm();
            }
            if now >= due.advance {
                due.advance = now + self.about(LOGINS_PER_MOVE);
                self.advance().await?;
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
        1 + self.chance.below(2 * usize::try_from(average).unwrap_or(1)) as u64
    }

    fn arm(&mut self) {
        let operations: Vec<_> = BrokerOperation::all().collect();
        let operation = operations[self.chance.below(operations.len())];
        let fault = Fault::ALL[self.chance.below(Fault::ALL.len())];
        let nth = u32::try_from(1 + self.chance.below(4)).unwrap_or(1);
        let order = FaultInjection {
            delay: Duration::from_millis(20 + self.chance.below(400) as u64),
            sticky: self.chance.below(10) == 0,
            ..FaultInjection::next(operation, fault).nth(nth)
        };
        let id = self.watch.faults.arm(order);
        if id.is_multiple_of(FAULTS_PER_CLEARING) {
            self.watch.faults.clear();
        }
    }

    /// Nobody is in a call when the clock jumps: which time it was is known.
    async fn advance(&mut self) -> Result<(), Failure> {
        let (least, more) = match self.chance.below(10) {
            0..5 => (1, 20),
            5..8 => (20, 100),
            _ => (300, 1_000),
        };
        let seconds = least + self.chance.below(more) as u64;
        let stage = self.stage.clone();
        let _alone = stage.time.write().await;
        stage.tally().moved(seconds);
        self.fleet.advance(Duration::from_secs(seconds)).await
    }

    async fn restart(&mut self) -> Result<(), Failure> {
        self.stage.changes();
        if self.chance.coin() {
            self.stage.tally().killed += 1;
            self.fleet.brokers[0].kill().await?;
        } else {
            self.stage.tally().stopped += 1;
            self.fleet.brokers[0].stop().await?;
        }
        (&mut self.reader).await?;
        self.fleet.start_first_again(None).await?;
        self.reader = follow(&self.stage, &mut self.fleet)?;
        let address = address(&self.fleet)?;
        self.wire.retarget(address);
        self.stage.moved_to(address);
        self.stage.changes();
        Ok(())
    }

    /// How the broker is, the last time, and everything that it had to say.
    pub(crate) async fn end(mut self) -> Result<Vitals, Failure> {
        let vitals = Vitals::of(&self.stage)?;
        self.fleet.brokers[0].stop().await?;
        self.reader.await?;
        Ok(vitals)
    }
}

/// Where the first broker of `fleet` listens.
pub(crate) fn address(fleet: &Fleet) -> Result<SocketAddr, Failure> {
    let url = fleet.brokers[0].url.strip_prefix("http://");
    Ok(url.ok_or("a broker says where it is")?.parse()?)
}

/// Reads the log of the broker that was started just now.
fn follow(stage: &Stage, fleet: &mut Fleet) -> Result<JoinHandle<()>, Failure> {
    let broker = &mut fleet.brokers[0];
    stage.watch_process(broker.id().ok_or("a broker has ended by itself")?);
    let log = broker.log.take().ok_or("a broker has a log")?;
    Ok(stage.ledger.follow(log))
}

async fn count_faults(stage: Arc<Stage>, watch: Arc<ProxyState>) {
    let mut news = watch.event_log.subscribe();
    loop {
        match news.recv().await {
            Ok(event) => {
                if let Some(fault) = event.fault {
                    stage.tally().struck(fault);
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

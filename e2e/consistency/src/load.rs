//! People who sign in while a broker dies: each login goes as far as it was meant
//! to, or as far as it is answered, and is remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use crate::Failure;
use crate::chance::Chance;
use crate::client::{Answer, Client, Reply, Request, Transaction, at_provider};
use crate::history::Heard;
use crate::memory::{Clean, Legacy, Memory, Step};

/// What everybody who works shares.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) client: Client,
    pub(crate) brokers: Arc<[String]>,
    /// How many answers there were so far.
    pub(crate) answers: Arc<watch::Sender<u64>>,
    pub(crate) is_over: Arc<AtomicBool>,
}

/// Into how many stages a login may come, the first being none at all.
const STAGES: usize = 5;

impl Work {
    /// One login after the other, until it is over.
    pub(crate) async fn go_on(self, mut chance: Chance) -> Result<Vec<Memory>, Failure> {
        let mut memories = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let provider = if chance.coin() { "google" } else { "github" };
            let stages = chance.below(STAGES);
            memories.extend(if chance.coin() {
                self.clean(provider, stages, &mut chance)
                    .await?
                    .map(Memory::Clean)
            } else {
                self.legacy(provider, stages, &mut chance)
                    .await?
                    .map(Memory::Legacy)
            });
        }
        Ok(memories)
    }

    async fn clean(
        &self,
        provider: &'static str,
        stages: usize,
        chance: &mut Chance,
    ) -> Result<Option<Clean>, Failure> {
        let key = chance.secret();
        let open = Request::Open {
            key: key.clone(),
            provider,
        };
        let Some(opened) = self.ask(&open, chance).await else {
            return Ok(None);
        };
        let mut login = Clean {
            open,
            result: Request::Result { key },
            visit: Request::visit(&opened.text("authorization_url"), ""),
            claimed: Step::NotAsked,
            delivered: Step::NotAsked,
            read: Step::NotAsked,
        };
        self.go_through(&mut login, stages, chance).await?;
        Ok(Some(login))
    }

    async fn go_through(
        &self,
        login: &mut Clean,
        stages: usize,
        chance: &mut Chance,
    ) -> Result<(), Failure> {
        if stages < 1 {
            return Ok(());
        }
        let Some(departure) = self.step(&login.visit, &mut login.claimed, chance).await? else {
            return Ok(());
        };
        login.visit = login.visit.with_cookies(&departure.cookies);
        if stages < 2 {
            return Ok(());
        }
        let arrive = at_provider(&self.client, &departure).await?;
        let home = self.step(&arrive, &mut login.delivered, chance).await?;
        if home.is_some() && stages > 2 {
            self.step(&login.result, &mut login.read, chance).await?;
        }
        Ok(())
    }

    async fn legacy(
        &self,
        provider: &'static str,
        stages: usize,
        chance: &mut Chance,
    ) -> Result<Option<Legacy>, Failure> {
        let kept = Transaction::fresh(chance);
        let begin = Request::visit(&kept.authorize_url(provider), "");
        let Some(departure) = self.ask(&begin, chance).await else {
            return Ok(None);
        };
        let mut login = Legacy {
            arrive: at_provider(&self.client, &departure).await?,
            delivered: Step::NotAsked,
            redeem: None,
            redeemed: Step::NotAsked,
            token: None,
            revoked: Step::NotAsked,
        };
        self.come_home(&mut login, kept, stages, chance).await?;
        Ok(Some(login))
    }

    async fn come_home(
        &self,
        login: &mut Legacy,
        kept: Transaction,
        stages: usize,
        chance: &mut Chance,
    ) -> Result<(), Failure> {
        if stages < 1 {
            return Ok(());
        }
        let Some(home) = self
            .step(&login.arrive, &mut login.delivered, chance)
            .await?
        else {
            return Ok(());
        };
        let code = home
            .code()
            .ok_or_else(|| format!("no code came home: {home:?}"))?;
        let redeem = login.redeem.insert(Request::Redeem { kept, code });
        if stages < 2 {
            return Ok(());
        }
        let Some(issued) = self.step(redeem, &mut login.redeemed, chance).await? else {
            return Ok(());
        };
        let token = login.token.insert(issued.text("access_token")).clone();
        if stages > 2 {
            self.step(&Request::Revoke { token }, &mut login.revoked, chance)
                .await?;
        }
        Ok(())
    }

    /// Takes one step, and notes how far it is known to have come. Nothing if
    /// nobody answered.
    async fn step(
        &self,
        request: &Request,
        step: &mut Step,
        chance: &mut Chance,
    ) -> Result<Option<Answer>, Failure> {
        *step = Step::Unanswered;
        let Some(answer) = self.ask(request, chance).await else {
            return Ok(None);
        };
        *step = match answer.heard(request) {
            Some(Heard::Granted | Heard::Ended) => Step::Answered,
            // Nothing was consumed.
            Some(Heard::NotYet) => Step::NotAsked,
            _ => return Err(format!("{request:?}: {answer:?}").into()),
        };
        Ok(Some(answer))
    }

    async fn ask(&self, request: &Request, chance: &mut Chance) -> Option<Answer> {
        let broker = &self.brokers[chance.below(self.brokers.len())];
        match self.client.send(broker, request).await {
            Reply::Lost => None,
            Reply::Answered(answer) => {
                self.answers.send_modify(|answers| *answers += 1);
                Some(*answer)
            }
        }
    }
}

//! One login, each single-use step of it asked for by many clients at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rocket::futures::future::{join, join_all};

use crate::Failure;
use crate::chance::Chance;
use crate::client::at_provider;
use crate::client::{Answer, CALLBACK, Client, Reply, Request, Transaction};
use crate::history::{Call, Heard, History, Thing};

/// Where logins are raced for.
#[derive(Clone)]
pub(crate) struct Arena {
    client: Client,
    brokers: Arc<[String]>,
    /// How many clients ask for one thing.
    clients: usize,
    begin: Instant,
}

/// A race that was run: every call, and the answer that got the thing.
struct Race {
    history: History,
    won: Option<Answer>,
}

/// The longest that a client waits before it joins a race.
const LATEST_US: usize = 3_000;

impl Arena {
    #[expect(
        clippy::disallowed_methods,
        reason = "calls are ordered by a clock that never jumps"
    )]
    pub(crate) fn at(brokers: Vec<String>, clients: usize) -> Result<Self, Failure> {
        Ok(Self {
            client: Client::new()?,
            brokers: brokers.into(),
            clients,
            begin: Instant::now(),
        })
    }

    /// Plays one login, of either flow at either provider.
    pub(crate) async fn play(&self, chance: &mut Chance) -> Result<Vec<History>, Failure> {
        let provider = if chance.coin() { "google" } else { "github" };
        if chance.coin() {
            self.clean(provider, chance).await
        } else {
            self.legacy(provider, chance).await
        }
    }

    async fn clean(
        &self,
        provider: &'static str,
        chance: &mut Chance,
    ) -> Result<Vec<History>, Failure> {
        let key = chance.secret();
        let open = Request::Open {
            key: key.clone(),
            provider,
        };
        let opening = self.race(Thing::SessionKey, &[open], chance).await?;
        let visit = Request::visit(&opening.won()?.text("authorization_url"), "");
        let claiming = self.race(Thing::Claim, &[visit], chance).await?;
        let arrival = at_provider(&self.client, claiming.won()?).await?;

        let read = [Request::Result { key }];
        let mut apart = chance.apart();
        let home = self.everybody_gets_home(&arrival, &mut apart);
        let reading = if chance.coin() {
            home.await?;
            self.race(Thing::Result, &read, chance).await?
        } else {
            // The backend asks while the browser is still on its way.
            let (home, reading) = join(home, self.race(Thing::Result, &read, chance)).await;
            home?;
            reading?
        };
        let reading = match reading.won {
            None => self.one_more(reading, &read[0], chance).await?,
            Some(_) => reading,
        };
        Ok(vec![opening.history, claiming.history, reading.history])
    }

    /// In the clean flow a callback that is delivered twice goes home twice.
    async fn everybody_gets_home(
        &self,
        arrival: &Request,
        chance: &mut Chance,
    ) -> Result<(), Failure> {
        let brokers = [self.any(chance), self.any(chance)];
        let deliveries = brokers.map(|broker| self.client.send(broker, arrival));
        for reply in join_all(deliveries).await {
            let answer = reply.answer()?;
            if answer.location != CALLBACK {
                return Err(format!("a browser was not sent home: {answer:?}").into());
            }
        }
        Ok(())
    }

    async fn legacy(
        &self,
        provider: &'static str,
        chance: &mut Chance,
    ) -> Result<Vec<History>, Failure> {
        let kept = Transaction::fresh(chance);
        let begin = Request::visit(&kept.authorize_url(provider), "");
        let departure = self.client.send(self.any(chance), &begin).await.answer()?;
        let arrival = at_provider(&self.client, &departure).await?;
        let arriving = self.race(Thing::UpstreamLogin, &[arrival], chance).await?;
        let code = arriving.won()?.code().ok_or("no code came home")?;
        let redeem = Request::Redeem { kept, code };

        let mut histories = vec![arriving.history];
        match chance.below(3) {
            0 => histories.extend(self.race_for_code(redeem, chance).await?),
            1 => histories.push(self.race_replay(redeem, chance).await?),
            _ => histories.push(self.race_revocation(&redeem, chance).await?),
        }
        Ok(histories)
    }

    /// Many redeem. Whoever comes second ends the token, too.
    async fn race_for_code(
        &self,
        redeem: Request,
        chance: &mut Chance,
    ) -> Result<Vec<History>, Failure> {
        let redeeming = self.race(Thing::Code, &[redeem], chance).await?;
        let token = redeeming.won()?.text("access_token");
        let mut after = Race::of(Thing::ReplayedToken);
        after.history.calls = redeeming.history.refusals_as_ends();
        let after = self
            .one_more(after, &Request::Profile { token }, chance)
            .await?;
        Ok(vec![redeeming.history, after.history])
    }

    /// Some read the profile while others redeem the code once more.
    async fn race_replay(&self, redeem: Request, chance: &mut Chance) -> Result<History, Failure> {
        let token = self.token(&redeem, chance).await?;
        let read = Request::Profile { token };
        self.race_to_end(Thing::ReplayedToken, [read, redeem], chance)
            .await
    }

    /// Some read the profile while others revoke the token.
    async fn race_revocation(
        &self,
        redeem: &Request,
        chance: &mut Chance,
    ) -> Result<History, Failure> {
        let token = self.token(redeem, chance).await?;
        let read = Request::Profile {
            token: token.clone(),
        };
        self.race_to_end(
            Thing::RevokedToken,
            [read, Request::Revoke { token }],
            chance,
        )
        .await
    }

    /// Some read while others end; whoever reads once more comes too late.
    async fn race_to_end(
        &self,
        thing: Thing,
        requests: [Request; 2],
        chance: &mut Chance,
    ) -> Result<History, Failure> {
        let race = self.race(thing, &requests, chance).await?;
        let race = self.one_more(race, &requests[0], chance).await?;
        Ok(race.history)
    }

    async fn token(&self, redeem: &Request, chance: &mut Chance) -> Result<String, Failure> {
        let reply = self.client.send(self.any(chance), redeem).await;
        Ok(reply.answer()?.text("access_token"))
    }

    /// Every client sends one of `requests`, at about the same time.
    async fn race(
        &self,
        thing: Thing,
        requests: &[Request],
        chance: &mut Chance,
    ) -> Result<Race, Failure> {
        let calls = (0..self.clients).map(|client| {
            let (broker, wait) = (self.any(chance), delay(chance));
            self.call(broker, &requests[client % requests.len()], wait)
        });
        let calls: Vec<_> = calls.collect();
        let mut race = Race::of(thing);
        for (request, begun_ns, returned_ns, reply) in join_all(calls).await {
            race.take_in(request, (begun_ns, returned_ns), reply)?;
        }
        Ok(race)
    }

    /// Adds one call to a race that is over.
    async fn one_more(
        &self,
        mut race: Race,
        request: &Request,
        chance: &mut Chance,
    ) -> Result<Race, Failure> {
        let (request, begun_ns, returned_ns, reply) =
            self.call(self.any(chance), request, Duration::ZERO).await;
        race.take_in(request, (begun_ns, returned_ns), reply)?;
        Ok(race)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "clients that come a little later are what makes a race"
    )]
    async fn call<'a>(
        &self,
        broker: &str,
        request: &'a Request,
        wait: Duration,
    ) -> (&'a Request, u64, u64, Reply) {
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let invoked_ns = self.now_ns();
        let reply = self.client.send(broker, request).await;
        (request, invoked_ns, self.now_ns(), reply)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "calls are ordered by a clock that never jumps"
    )]
    fn now_ns(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn any(&self, chance: &mut Chance) -> &str {
        &self.brokers[chance.below(self.brokers.len())]
    }
}

/// Half of the clients join at once.
fn delay(chance: &mut Chance) -> Duration {
    if chance.coin() {
        return Duration::ZERO;
    }
    Duration::from_micros(chance.below(LATEST_US) as u64)
}

impl Race {
    fn of(thing: Thing) -> Self {
        let calls = Vec::new();
        Self {
            history: History { thing, calls },
            won: None,
        }
    }

    fn take_in(
        &mut self,
        request: &Request,
        (invoked_ns, returned_ns): (u64, u64),
        reply: Reply,
    ) -> Result<(), Failure> {
        let heard = match &reply {
            Reply::Lost => Heard::Nothing,
            Reply::Answered(answer) => answer
                .heard(request)
                .ok_or_else(|| format!("{}: {answer:?} is no answer", self.history.thing.name()))?,
        };
        let heard = self.history.thing.takes(request, heard);
        self.history.calls.push(Call {
            invoked_ns,
            returned_ns,
            heard,
        });
        if let (Heard::Granted, Reply::Answered(answer)) = (heard, reply) {
            self.won = Some(*answer);
        }
        Ok(())
    }

    fn won(&self) -> Result<&Answer, Failure> {
        let nobody = || format!("nobody won:\n{}", self.history);
        Ok(self.won.as_ref().ok_or_else(nobody)?)
    }
}

impl Thing {
    /// What `heard` means for this thing: a code that is refused again has ended
    /// its token.
    fn takes(self, request: &Request, heard: Heard) -> Heard {
        match (self, request, heard) {
            (Thing::ReplayedToken, Request::Redeem { .. }, Heard::Refused) => Heard::Ended,
            _ => heard,
        }
    }
}

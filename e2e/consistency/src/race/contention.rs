//! One login, each single-use step of it asked for by many clients at once.

use std::ops::Range;
use std::time::Duration;

use agent::random::Random;
use agent::time::pause;
use rocket::futures::future::{join, join_all};
use strum::{Display, VariantArray};

use crate::RunError;
use crate::client::Response;
use crate::login::{Login, first};
use crate::provider::{Providers, Script};
use crate::recorder::{Call, Endpoint, Recorded, Recorder};
use checker::history::Flow;

/// The brokers and providers that the clients race at.
pub(super) struct Arena {
    pub(super) recorder: Recorder,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) providers: Providers,
    /// The number of clients that race for one value.
    pub(super) clients: usize,
}

/// A single-use step that is contended, by its name in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Contended {
    /// `POST /v1/login/session` with one key.
    #[strum(to_string = "session key")]
    SessionKey,
    /// Browsers at one authorization URL.
    #[strum(to_string = "browser binding")]
    Binding,
    /// One callback, delivered again and again.
    #[strum(to_string = "upstream login")]
    UpstreamLogin,
    /// `POST /v1/login/result`.
    Result,
    /// `POST /v1/token` with one code.
    Code,
    /// `GET /v1/profile` among redemptions of a redeemed code.
    #[strum(to_string = "token of a replayed code")]
    ReplayedToken,
    /// `GET /v1/profile` among revocations.
    #[strum(to_string = "revoked token")]
    RevokedToken,
}

/// A login that was raced for.
pub(super) struct Played {
    pub(super) login: Login,
    /// The contended steps, by the places of their operations in the history.
    pub(super) contended: Vec<(Contended, Range<usize>)>,
}

/// The longest that a client waits before it joins a race.
const MAX_DELAY_US: usize = 3_000;

impl Arena {
    /// Plays one login, of either flow at either provider. One that goes wrong ends
    /// early; its history shows it.
    pub(super) async fn play(&self, index: u64, random: &mut Random) -> Result<Played, RunError> {
        let mut played = Played {
            login: Login::any(index, random)?,
            contended: Vec::new(),
        };
        match played.login.history.flow {
            Flow::Clean => self.clean(&mut played, random).await?,
            Flow::Legacy => self.legacy(&mut played, random).await?,
        };
        Ok(played)
    }

    async fn clean(&self, played: &mut Played, random: &mut Random) -> Result<(), RunError> {
        let starts: Vec<_> = (0..self.clients).map(|_| played.login.start()).collect();
        let responses = self
            .race(played, Contended::SessionKey, &starts, random)
            .await;
        let Some(started) = first(&starts, &responses, Call::started) else {
            return Ok(());
        };
        let visits = (0..self.clients).map(|_| {
            let browser = played.login.browser();
            played.login.visit(started, browser)
        });
        let visits: Vec<_> = visits.collect();
        let responses = self.race(played, Contended::Binding, &visits, random).await;
        let Some(upstream_login) = first(&visits, &responses, Call::began) else {
            return Ok(());
        };
        self.sign_in(played, upstream_login, random).await?;
        let read = played.login.read();
        let reads = vec![read.clone(); self.clients];
        let deliveries = vec![played.login.deliver(upstream_login); 2];
        if random.one_in(2) {
            self.perform_all(played, &deliveries, random).await;
            self.race(played, Contended::Result, &reads, random).await;
        } else {
            // The backend asks while the browser is still on its way.
            let mut fork = random.fork();
            let deliveries = self.calls(&deliveries, &mut fork);
            let (deliveries, reads) = join(deliveries, self.calls(&reads, random)).await;
            played.add(deliveries);
            played.add_contended(Contended::Result, reads);
        }
        self.perform_all(played, &[read], random).await;
        Ok(())
    }

    async fn legacy(&self, played: &mut Played, random: &mut Random) -> Result<(), RunError> {
        let browser = played.login.browser();
        let authorize = [played.login.authorize(browser)];
        let responses = self.perform_all(played, &authorize, random).await;
        let Some(upstream_login) = first(&authorize, &responses, Call::began) else {
            return Ok(());
        };
        self.sign_in(played, upstream_login, random).await?;
        let deliveries = vec![played.login.deliver(upstream_login); self.clients];
        self.race(played, Contended::UpstreamLogin, &deliveries, random)
            .await;
        if let Some(redeem) = played.login.redeem(upstream_login, None) {
            self.race_for_token(played, upstream_login, redeem, random)
                .await;
        }
        Ok(())
    }

    /// Clients redeem at once, or read the profile while others redeem again or revoke.
    /// In the end one more client reads the profile, too late.
    async fn race_for_token(
        &self,
        played: &mut Played,
        upstream_login: u8,
        redeem: Call,
        random: &mut Random,
    ) -> Option<()> {
        let kind = *random.pick(&[
            Contended::Code,
            Contended::ReplayedToken,
            Contended::RevokedToken,
        ]);
        if kind == Contended::Code {
            let redemptions = vec![redeem.clone(); self.clients];
            self.race(played, kind, &redemptions, random).await;
        } else {
            let redemption = std::slice::from_ref(&redeem);
            self.perform_all(played, redemption, random).await;
        }
        let profile = played.login.profile(upstream_login)?;
        let end = match kind {
            Contended::RevokedToken => played.login.revoke(upstream_login)?,
            _ => redeem,
        };
        if kind != Contended::Code {
            let both = [profile.clone(), end];
            let calls = both.iter().cycle().take(self.clients).cloned();
            let calls: Vec<_> = calls.collect();
            self.race(played, kind, &calls, random).await;
        }
        self.perform_all(played, &[profile], random).await;
        Some(())
    }

    async fn sign_in(
        &self,
        played: &mut Played,
        upstream_login: u8,
        random: &mut Random,
    ) -> Result<(), RunError> {
        let script = Script::plain(played.login.history.provider, random);
        let (providers, recorder) = (&self.providers, &self.recorder);
        let login = &mut played.login;
        login
            .sign_in(providers, recorder, upstream_login, script)
            .await
    }

    /// Every client sends one of `calls`, at about the same time.
    async fn race(
        &self,
        played: &mut Played,
        kind: Contended,
        calls: &[Call],
        random: &mut Random,
    ) -> Vec<Option<Response>> {
        let recorded = self.calls(calls, random).await;
        played.add_contended(kind, recorded)
    }

    /// The same for calls that no single-use step is contended by.
    async fn perform_all(
        &self,
        played: &mut Played,
        calls: &[Call],
        random: &mut Random,
    ) -> Vec<Option<Response>> {
        let recorded = self.calls(calls, random).await;
        played.add(recorded)
    }

    async fn calls(&self, calls: &[Call], random: &mut Random) -> Vec<Recorded> {
        let calls = calls.iter().map(|call| {
            let (endpoint, delay) = (random.pick(&self.endpoints), delay(random));
            self.perform_after(delay, endpoint, call)
        });
        let calls: Vec<_> = calls.collect();
        join_all(calls).await
    }

    /// Clients that come a little later are what makes a race.
    async fn perform_after(&self, delay: Duration, endpoint: &Endpoint, call: &Call) -> Recorded {
        if !delay.is_zero() {
            pause(delay).await;
        }
        self.recorder.perform(endpoint, call).await
    }
}

impl Played {
    fn add(&mut self, recorded: Vec<Recorded>) -> Vec<Option<Response>> {
        let recorded = recorded.into_iter();
        recorded.map(|it| self.login.record(it)).collect()
    }

    fn add_contended(&mut self, kind: Contended, recorded: Vec<Recorded>) -> Vec<Option<Response>> {
        let first = self.login.history.operations.len();
        self.contended.push((kind, first..first + recorded.len()));
        self.add(recorded)
    }
}

/// Half of the clients join at once.
fn delay(random: &mut Random) -> Duration {
    if random.one_in(2) {
        return Duration::ZERO;
    }
    Duration::from_micros(random.below(MAX_DELAY_US) as u64)
}

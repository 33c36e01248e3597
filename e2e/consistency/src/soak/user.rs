//! Users who sign in, by either flow at either provider, with a backend and a browser
//! that repeat themselves, come late, or come twice.

use std::sync::Arc;
use std::time::Duration;

use agent::time::pause;
use rocket::futures::future::join_all;

use super::context::Context;
use super::hostile;
use crate::RunError;
use crate::client::Response;
use crate::history::Outcome;
use crate::login::{self, Browser, Login, Started, UpstreamVisit};
use crate::model::{Answer, Provider};
use crate::provider::Script;
use crate::random::Random;
use crate::recorder::Call;

/// The number of times that a call without an answer is tried.
const TRIES: usize = 6;

/// Plays one login after the other, until the run is over.
pub(super) async fn sign_in_until_over(
    context: Arc<Context>,
    seed: u64,
    most: u64,
) -> Result<(), RunError> {
    while !context.is_over() {
        context.wait_until_running().await;
        let mut index = 0;
        context.begun.send_modify(|begun| {
            *begun += 1;
            index = *begun;
        });
        if index > most {
            return Ok(());
        }
        let mut random = Random::of(seed, index);
        let user = sign_in(&context, index, &mut random).await?;
        context.check(user.login.history, user.request_ids).await;
        if random.one_in(10) {
            context.list_providers(&mut random).await;
        }
        if random.one_in(3) {
            hostile::send_one(&context, &mut random).await;
        }
    }
    Ok(())
}

async fn sign_in<'a>(
    context: &'a Context,
    index: u64,
    random: &'a mut Random,
) -> Result<User<'a>, RunError> {
    let provider = *random.pick(&Provider::ALL);
    if random.one_in(2) {
        let login = Login::clean(index, provider, random)?;
        let mut user = User::new(context, login, random);
        user.play_clean().await?;
        Ok(user)
    } else {
        let login = Login::legacy(index, provider, random)?;
        let mut user = User::new(context, login, random);
        user.play_legacy().await?;
        Ok(user)
    }
}

/// A user with a browser, and the consumer's backend.
struct User<'a> {
    context: &'a Context,
    random: &'a mut Random,
    login: Login,
    /// The ids of the answers in the brokers' log.
    request_ids: Vec<String>,
}

impl<'a> User<'a> {
    fn new(context: &'a Context, login: Login, random: &'a mut Random) -> Self {
        Self {
            context,
            random,
            login,
            request_ids: Vec::new(),
        }
    }

    /// Sends a call once.
    async fn perform(&mut self, call: &Call) -> Option<Response> {
        self.perform_all(std::slice::from_ref(call)).await.pop()?
    }

    /// Sends calls at once.
    async fn perform_all(&mut self, calls: &[Call]) -> Vec<Option<Response>> {
        let calls = calls.iter().map(|call| {
            let endpoint = self.context.endpoint(self.random);
            self.context.recorder.perform(endpoint, call)
        });
        let calls: Vec<_> = calls.collect();
        let mut responses = Vec::new();
        for recorded in join_all(calls).await {
            let id = recorded.response.as_ref().and_then(Response::request_id);
            self.request_ids.extend(id.map(str::to_owned));
            let is_definite = recorded.operation.is_definite();
            let response = self.login.record(recorded);
            responses.push(response.filter(|_| is_definite));
        }
        responses
    }

    /// Sends a call until it is answered, but not for ever.
    async fn retry(&mut self, call: &Call) -> Option<Response> {
        for _ in 0..TRIES {
            let response = self.perform(call).await;
            if response.is_some() {
                return response;
            }
            self.context.wait_until_running().await;
        }
        None
    }

    /// To the provider and back, once or several times with the same callback. The
    /// responses that came.
    async fn sign_in_at_provider(
        &mut self,
        visit: &UpstreamVisit,
    ) -> Result<Vec<Response>, RunError> {
        let provider = self.login.history.provider;
        let script = Script::any(provider, self.random);
        let providers = &self.context.providers;
        let recorder = &self.context.recorder;
        let sign_in = providers
            .sign_in(
                recorder,
                visit.upstream_login,
                &visit.provider_url,
                provider,
                script,
            )
            .await?;
        if let Some(name) = sign_in.misbehaviour {
            self.context.statistics().add_misbehaviour(name);
        }
        let callback_url = sign_in.callback_url.clone();
        if self.random.one_in(8) {
            let other = self.login.browser();
            let stray = visit.deliver_elsewhere(&callback_url, &other);
            self.perform(&stray).await;
        }
        self.think().await;
        let from_ms = recorder.clock.now().0;
        let times = 1 + usize::from(self.random.one_in(6));
        let deliveries = vec![visit.deliver(&callback_url); times];
        let mut responses = Vec::new();
        for _ in 0..1 + usize::from(self.random.one_in(6)) {
            providers.note_failing_keys(&sign_in, recorder);
            responses.extend(self.perform_all(&deliveries).await.into_iter().flatten());
            providers.note_failing_keys(&sign_in, recorder);
        }
        let mut sign_in = sign_in;
        if providers.note_shadow(&mut sign_in.operation, from_ms) {
            self.context.statistics().shadowed += 1;
        }
        self.login.record_sign_in(sign_in);
        Ok(responses)
    }

    /// Some take their time, and much may happen meanwhile.
    async fn think(&mut self) {
        if self.random.one_in(20) {
            let ms = 50 + self.random.below(1_500) as u64;
            pause(Duration::from_millis(ms)).await;
        }
    }

    fn last_outcome(&self) -> Option<&Outcome> {
        self.login.history.operations.last().map(|it| &it.outcome)
    }
}

/// The outcome of a browser's attempt.
enum Attempt {
    /// It is on its way to the provider.
    AtProvider(UpstreamVisit),
    /// It is back, or was refused.
    Over,
    /// No answer came.
    Unanswered,
}

impl User<'_> {
    /// Plays the login to its end.
    pub(super) async fn play_clean(&mut self) -> Result<(), RunError> {
        let Some(started) = self.start().await else {
            self.read_at_once(1).await;
            return Ok(());
        };
        if self.random.one_in(4) {
            self.read_at_once(1).await;
        }
        // A browser that gets no answer on its way back begins again where it began.
        let mut browser = self.login.browser();
        for _ in 0..2 {
            self.think().await;
            if self.is_back(&started, &mut browser).await? {
                break;
            }
        }
        self.think().await;
        let times = 1 + self.random.below(3);
        self.read_at_once(times).await;
        self.read_until_over().await;
        Ok(())
    }

    async fn start(&mut self) -> Option<Started> {
        let times = 1 + usize::from(self.random.one_in(8));
        let starts: Vec<_> = (0..times).map(|_| self.login.start()).collect();
        let responses = self.perform_all(&starts).await;
        let pairs = starts.iter().zip(&responses);
        pairs
            .into_iter()
            .find_map(|(call, response)| Started::by(call, response.as_ref()?))
    }

    /// The browser's part, once: whether it needs no further one.
    async fn is_back(
        &mut self,
        started: &Started,
        browser: &mut Browser,
    ) -> Result<bool, RunError> {
        let mut attempt = Attempt::Unanswered;
        for _ in 0..TRIES {
            attempt = self.visit(started, browser).await;
            if !matches!(attempt, Attempt::Unanswered) {
                break;
            }
            self.context.wait_until_running().await;
        }
        let visit = match attempt {
            Attempt::Unanswered => return Ok(false),
            Attempt::Over => return Ok(true),
            Attempt::AtProvider(visit) => visit,
        };
        *browser = visit.browser.clone();
        if self.random.one_in(8) {
            let other = self.login.browser();
            let intrusion = self.login.visit(started, &other);
            self.perform(&intrusion).await;
        }
        let responses = self.sign_in_at_provider(&visit).await?;
        Ok(!responses.is_empty())
    }

    /// Opens the authorization URL; where the confirmation page asks, presses one of its
    /// buttons.
    async fn visit(&mut self, started: &Started, browser: &mut Browser) -> Attempt {
        if browser.has_no_cookies() {
            // It is not the browser of an earlier visit that was not answered.
            *browser = self.login.browser();
        }
        let visit = match self.random.one_in(4) {
            true => self.login.visit_unvouched(started, browser),
            false => self.login.visit(started, browser),
        };
        let Some(response) = self.perform(&visit).await else {
            return Attempt::Unanswered;
        };
        if self.last_outcome() != Some(&Outcome::Answered(Answer::ConfirmationPage)) {
            let at_provider = UpstreamVisit::by(&visit, browser, &response);
            return at_provider.map_or(Attempt::Over, Attempt::AtProvider);
        }
        if self.random.one_in(3) {
            let cancel = self.login.press_cancel(started, browser);
            return match self.perform(&cancel).await {
                Some(_) => Attempt::Over,
                None => Attempt::Unanswered,
            };
        }
        let go_on = self.login.press_continue(started, browser);
        let Some(response) = self.perform(&go_on).await else {
            return Attempt::Unanswered;
        };
        let at_provider = UpstreamVisit::by(&go_on, browser, &response);
        at_provider.map_or(Attempt::Over, Attempt::AtProvider)
    }

    async fn read_at_once(&mut self, times: usize) {
        let reads = vec![self.login.read(); times];
        self.perform_all(&reads).await;
    }

    /// Reads until the answer is that there is nothing to read.
    async fn read_until_over(&mut self) {
        let read = self.login.read();
        for _ in 0..TRIES {
            self.perform(&read).await;
            if let Some(Outcome::Answered(Answer::Refused | Answer::Pending)) = self.last_outcome()
            {
                return;
            }
            self.context.wait_until_running().await;
        }
    }
}

impl User<'_> {
    /// Plays the login to its end.
    pub(super) async fn play_legacy(&mut self) -> Result<(), RunError> {
        let Some(visit) = self.authorize().await else {
            return Ok(());
        };
        self.think().await;
        let responses = self.sign_in_at_provider(&visit).await?;
        if let Some(code) = responses.iter().find_map(Response::code) {
            self.redeem(visit.upstream_login, &code).await;
        }
        Ok(())
    }

    async fn authorize(&mut self) -> Option<UpstreamVisit> {
        for _ in 0..TRIES {
            let browser = self.login.browser();
            let authorize = self.login.authorize(&browser);
            if let Some(response) = self.perform(&authorize).await {
                return UpstreamVisit::by(&authorize, &browser, &response);
            }
            self.context.wait_until_running().await;
        }
        None
    }

    async fn redeem(&mut self, upstream_login: u8, code: &str) {
        self.think().await;
        if self.random.one_in(6) {
            let forged = self
                .login
                .redeem_with_another_verifier(upstream_login, code, self.random);
            self.perform(&forged).await;
        }
        let redeem = self.login.redeem(upstream_login, code);
        let times = 1 + usize::from(self.random.one_in(6));
        let responses = self.perform_all(&vec![redeem.clone(); times]).await;
        let redeemed = responses.into_iter().flatten().find(|it| it.status == 200);
        let token = redeemed.map(|it| it.text("access_token"));
        if let Some(token) = &token {
            self.use_token(upstream_login, token).await;
        }
        self.retry(&redeem).await;
        if let Some(token) = token {
            self.retry(&login::profile(upstream_login, &token)).await;
        }
    }

    async fn use_token(&mut self, upstream_login: u8, token: &str) {
        let profile = login::profile(upstream_login, token);
        for _ in 0..1 + self.random.below(3) {
            self.perform(&profile).await;
            self.think().await;
        }
        if self.random.one_in(3) {
            self.perform(&login::revoke(upstream_login, token)).await;
            self.perform(&profile).await;
        }
    }
}

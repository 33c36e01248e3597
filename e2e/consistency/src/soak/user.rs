//! Users who sign in, by either flow at either provider, with a backend and a browser
//! that repeat themselves, come late, or come twice.

use std::sync::Arc;
use std::time::Duration;

use agent::random::Random;
use agent::time::pause;
use rocket::futures::future::join_all;

use super::context::Context;
use super::hostile;
use super::statistics::count;
use crate::RunError;
use crate::client::Response;
use crate::login::{Login, first};
use crate::provider::Script;
use crate::recorder::Call;
use checker::history::{Flow, Outcome};
use checker::model::{Answer, Step, Visitor, Wrong};

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
    let mut user = User {
        context,
        login: Login::any(index, random)?,
        random,
        request_ids: Vec::new(),
    };
    match user.login.history.flow {
        Flow::Clean => user.play_clean().await?,
        Flow::Legacy => user.play_legacy().await?,
    }
    Ok(user)
}

/// A user with a browser, and the consumer's backend.
struct User<'a> {
    context: &'a Context,
    random: &'a mut Random,
    login: Login,
    /// The ids of the answers in the brokers' log.
    request_ids: Vec<String>,
}

impl User<'_> {
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
            responses.push(self.login.record(recorded));
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

    /// To the provider and back, once or several times with the same callback. Whether a
    /// response came.
    async fn sign_in_at_provider(&mut self, upstream_login: u8) -> Result<bool, RunError> {
        let script = Script::any(self.login.history.provider, self.random);
        let misbehaviour = script.misbehaviour;
        let (providers, recorder) = (&self.context.providers, &self.context.recorder);
        let signed_in = self
            .login
            .sign_in(providers, recorder, upstream_login, script);
        signed_in.await?;
        let place = self.login.history.operations.len() - 1;
        if let Some(name) = misbehaviour {
            count(&mut self.context.statistics.lock().misbehaviours, name);
        }
        if self.random.one_in(8) {
            let by = self.login.browser();
            let stray = self.login.call(Step::Deliver { upstream_login, by });
            self.perform(&stray).await;
        }
        self.think().await;
        let from_ms = recorder.clock.now().0;
        let times = 1 + usize::from(self.random.one_in(6));
        let deliveries = vec![self.login.deliver(upstream_login); times];
        let mut is_answered = false;
        for _ in 0..1 + usize::from(self.random.one_in(6)) {
            providers.note_failing_keys(misbehaviour, recorder);
            is_answered |= self
                .perform_all(&deliveries)
                .await
                .iter()
                .any(Option::is_some);
            providers.note_failing_keys(misbehaviour, recorder);
        }
        let sign_in = &mut self.login.history.operations[place];
        if providers.note_shadow(sign_in, from_ms) {
            self.context.statistics.lock().shadowed += 1;
        }
        Ok(is_answered)
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
    /// It is on its way to the provider, in this upstream login.
    AtProvider(u8),
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
            if self.is_back(started, &mut browser).await? {
                break;
            }
        }
        self.think().await;
        let times = 1 + self.random.below(3);
        self.read_at_once(times).await;
        self.read_until_over().await;
        Ok(())
    }

    async fn start(&mut self) -> Option<u8> {
        let times = 1 + usize::from(self.random.one_in(8));
        let starts: Vec<_> = (0..times).map(|_| self.login.start()).collect();
        let responses = self.perform_all(&starts).await;
        first(&starts, &responses, Call::started)
    }

    /// The browser's part, once: whether it needs no further one.
    async fn is_back(&mut self, started: u8, browser: &mut Visitor) -> Result<bool, RunError> {
        let mut attempt = Attempt::Unanswered;
        for _ in 0..TRIES {
            attempt = self.visit(started, browser).await;
            if !matches!(attempt, Attempt::Unanswered) {
                break;
            }
            self.context.wait_until_running().await;
        }
        let upstream_login = match attempt {
            Attempt::Unanswered => return Ok(false),
            Attempt::Over => return Ok(true),
            Attempt::AtProvider(upstream_login) => upstream_login,
        };
        if self.random.one_in(8) {
            let other = self.login.browser();
            let intrusion = self.login.visit(started, other);
            self.perform(&intrusion).await;
        }
        self.sign_in_at_provider(upstream_login).await
    }

    /// Opens the authorization URL; where the confirmation page asks, presses one of its
    /// buttons.
    async fn visit(&mut self, login: u8, browser: &mut Visitor) -> Attempt {
        if self.login.player.has_no_cookies(*browser) {
            // It is not the browser of an earlier visit that was not answered.
            *browser = self.login.browser();
        }
        let by = *browser;
        let visit = match self.random.one_in(4) {
            true => self.login.call(Step::VisitUnvouched { login, by }),
            false => self.login.visit(login, by),
        };
        let visited = self.attempt(&visit).await;
        if self.last_outcome() != Some(&Outcome::Answered(Answer::ConfirmationPage)) {
            return visited;
        }
        let pressed = match self.random.one_in(3) {
            true => self.login.call(Step::Cancel { login, by }),
            false => self.login.press_continue(login, by),
        };
        self.attempt(&pressed).await
    }

    async fn attempt(&mut self, call: &Call) -> Attempt {
        match self.perform(call).await {
            Some(response) => {
                let at_provider = call.began(&response);
                at_provider.map_or(Attempt::Over, Attempt::AtProvider)
            }
            None => Attempt::Unanswered,
        }
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
        let Some(upstream_login) = self.authorize().await else {
            return Ok(());
        };
        self.think().await;
        self.sign_in_at_provider(upstream_login).await?;
        if let Some(redeem) = self.login.redeem(upstream_login, None) {
            self.redeem(upstream_login, redeem).await;
        }
        Ok(())
    }

    async fn authorize(&mut self) -> Option<u8> {
        for _ in 0..TRIES {
            let browser = self.login.browser();
            let authorize = self.login.authorize(browser);
            if let Some(response) = self.perform(&authorize).await {
                return authorize.began(&response);
            }
            self.context.wait_until_running().await;
        }
        None
    }

    async fn redeem(&mut self, upstream_login: u8, redeem: Call) {
        self.think().await;
        if self.random.one_in(6) {
            let forged = self.login.redeem(upstream_login, Some(Wrong::Verifier));
            self.perform_all(forged.as_slice()).await;
        }
        let times = 1 + usize::from(self.random.one_in(6));
        self.perform_all(&vec![redeem.clone(); times]).await;
        let profile = self.login.profile(upstream_login);
        if let (Some(profile), Some(revoke)) = (&profile, self.login.revoke(upstream_login)) {
            self.use_token(profile, &revoke).await;
        }
        self.retry(&redeem).await;
        if let Some(profile) = profile {
            self.retry(&profile).await;
        }
    }

    async fn use_token(&mut self, profile: &Call, revoke: &Call) {
        for _ in 0..1 + self.random.below(3) {
            self.perform(profile).await;
            self.think().await;
        }
        if self.random.one_in(3) {
            self.perform(revoke).await;
            self.perform(profile).await;
        }
    }
}

//! Users who sign in, by either flow at either provider, with a backend and a browser
//! that repeat themselves, come late, or come twice.

mod clean;
mod legacy;

use std::sync::Arc;
use std::time::Duration;

use rocket::futures::future::join_all;

use super::context::Context;
use super::hostile;
use crate::RunError;
use crate::client::Response;
use crate::login::{Login, UpstreamVisit};
use crate::model::Provider;
use crate::operation::Outcome;
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
    #[expect(
        clippy::disallowed_methods,
        reason = "users who are slow, while brokers come and go"
    )]
    async fn think(&mut self) {
        if self.random.one_in(20) {
            let ms = 50 + self.random.below(1_500) as u64;
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
    }

    fn last_outcome(&self) -> Option<&Outcome> {
        self.login.history.operations.last().map(|it| &it.outcome)
    }
}

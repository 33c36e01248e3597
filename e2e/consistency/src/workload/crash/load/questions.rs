//! The questions about a login, after the kill.

use super::CutLogin;
use crate::RunError;
use crate::history::Flow;
use crate::model::Answer;
use crate::operation::Outcome;
use crate::provider::Providers;
use crate::random::Random;
use crate::recorder::{Endpoint, Recorder};

impl CutLogin {
    /// Asks for everything that this login may still give, and counts the questions.
    pub(in crate::workload::crash) async fn question(
        &mut self,
        recorder: &Recorder,
        providers: &Providers,
        endpoint: &Endpoint,
        random: &mut Random,
    ) -> Result<u64, RunError> {
        let before = self.login.history.operations.len();
        match self.login.history.flow {
            Flow::Clean => {
                self.question_clean(recorder, providers, endpoint, random)
                    .await?;
            }
            Flow::Legacy => self.question_legacy(recorder, endpoint).await,
        }
        let asked = &self.login.history.operations[before..];
        match asked.iter().find(|it| !it.is_definite()) {
            Some(it) => Err(format!("no answer to {:?} afterwards", it.step()).into()),
            None => Ok(asked.len() as u64),
        }
    }

    /// Reads the result. A pending login is kept from other browsers, and ends well when
    /// its own tries again.
    async fn question_clean(
        &mut self,
        recorder: &Recorder,
        providers: &Providers,
        endpoint: &Endpoint,
        random: &mut Random,
    ) -> Result<(), RunError> {
        let read = self.login.read();
        self.perform(recorder, endpoint, &read).await;
        let is_pending = self.last() == Some(&Outcome::Answered(Answer::Pending));
        if let Some(started) = self.started.clone().filter(|_| is_pending) {
            if self.visit.is_some() {
                let other = self.login.browser();
                let intrusion = self.login.visit(&started, &other);
                self.perform(recorder, endpoint, &intrusion).await;
            } else {
                // A browser whose visit was not answered got no cookie.
                self.browser = self.login.browser();
            }
            let visit = self.login.visit(&started, &self.browser);
            if let Some(response) = self.perform(recorder, endpoint, &visit).await {
                self.callback_url = None;
                self.keep(&visit, &response);
            }
            if self.callback_url.is_none() && self.visit.is_some() {
                self.sign_in(recorder, providers, random).await?;
                self.deliver(recorder, endpoint).await;
            }
            self.perform(recorder, endpoint, &read).await;
        }
        self.perform(recorder, endpoint, &read).await;
        let again = self.login.start();
        self.perform(recorder, endpoint, &again).await;
        Ok(())
    }

    /// Delivers once more; redeems, and redeems again, which ends the token.
    async fn question_legacy(&mut self, recorder: &Recorder, endpoint: &Endpoint) {
        if let Some(profile) = self.profile() {
            self.perform(recorder, endpoint, &profile).await;
        }
        for _ in 0..2 {
            if let Some(redeem) = self.redeem() {
                self.perform(recorder, endpoint, &redeem).await;
            }
        }
        if let Some(profile) = self.profile() {
            self.perform(recorder, endpoint, &profile).await;
        }
        for _ in 0..2 {
            self.deliver(recorder, endpoint).await;
        }
    }

    async fn deliver(&mut self, recorder: &Recorder, endpoint: &Endpoint) {
        if let (Some(visit), Some(callback_url)) = (&self.visit, &self.callback_url) {
            let delivery = visit.deliver(callback_url);
            self.perform(recorder, endpoint, &delivery).await;
        }
    }
}

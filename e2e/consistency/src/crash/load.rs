//! Users who sign in while a broker dies, each as far as it happens to be, and the
//! questions about each login afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::time::pause;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::RunError;
use crate::client::Response;
use crate::history::{Flow, Outcome};
use crate::login::{self, Browser, Login, Started, UpstreamVisit};
use crate::model::{Answer, Provider};
use crate::provider::{Providers, Script};
use crate::random::Random;
use crate::recorder::{Call, Endpoint, Recorder};

/// The state that all users share.
pub(super) struct Load {
    pub(super) recorder: Arc<Recorder>,
    pub(super) providers: Arc<Providers>,
    pub(super) endpoints: Vec<Endpoint>,
    /// The number of answers so far.
    pub(super) answers: watch::Sender<u64>,
    pub(super) is_over: AtomicBool,
}

/// Users who sign in until the load is over.
pub(super) struct Users {
    pub(super) load: Arc<Load>,
    pub(super) tasks: JoinSet<Result<Vec<CutLogin>, RunError>>,
    /// The number of answers so far.
    pub(super) answers: watch::Receiver<u64>,
}

/// A login that came as far as it was meant to, or as it was answered.
pub(super) struct CutLogin {
    pub(super) login: Login,
    browser: Browser,
    started: Option<Started>,
    visit: Option<UpstreamVisit>,
    callback_url: Option<String>,
    code: Option<String>,
    token: Option<String>,
}

/// The time after which a user who saw an error page tries again.
const PAUSE: Duration = Duration::from_millis(20);

/// The most steps that a login takes before it is left alone.
const MAX_STEPS: usize = 5;

impl Load {
    /// Plays one login after the other, until the load is over.
    pub(super) async fn sign_in_until_over(
        self: Arc<Self>,
        mut random: Random,
    ) -> Result<Vec<CutLogin>, RunError> {
        let mut logins = Vec::new();
        while !self.is_over.load(Ordering::Relaxed) {
            let (index, provider) = (logins.len() as u64, *random.pick(&Provider::ALL));
            let login = match random.one_in(2) {
                true => Login::clean(index, provider, &mut random)?,
                false => Login::legacy(index, provider, &mut random)?,
            };
            let steps = 1 + random.below(MAX_STEPS);
            let mut cut = CutLogin::of(login);
            for _ in 0..steps {
                if self.take_step(&mut cut, &mut random).await?.is_none() {
                    break;
                }
            }
            cut.pause_if_unanswered().await;
            logins.push(cut);
        }
        Ok(logins)
    }

    /// Plays one clean login after the other, until one succeeds.
    pub(super) async fn sign_in_until_one_succeeds(
        &self,
        mut random: Random,
    ) -> Result<Vec<CutLogin>, RunError> {
        let mut logins = Vec::new();
        loop {
            let (index, provider) = (logins.len() as u64, *random.pick(&Provider::ALL));
            let mut cut = CutLogin::of(Login::clean(index, provider, &mut random)?);
            while self.take_step(&mut cut, &mut random).await?.is_some() {}
            let has_succeeded = matches!(cut.last(), Some(Outcome::Answered(Answer::Succeeded(_))));
            cut.pause_if_unanswered().await;
            logins.push(cut);
            if has_succeeded {
                return Ok(logins);
            }
        }
    }

    /// Takes the next step of a login; none, if it is over or was not answered.
    async fn take_step(
        &self,
        cut: &mut CutLogin,
        random: &mut Random,
    ) -> Result<Option<()>, RunError> {
        let endpoint = random.pick(&self.endpoints);
        let Some(call) = cut.next_call() else {
            return Ok(None);
        };
        let Some(response) = cut.perform(&self.recorder, endpoint, &call).await else {
            return Ok(None);
        };
        self.answers.send_modify(|answers| *answers += 1);
        cut.keep(&call, &response);
        if cut.callback_url.is_none() && cut.visit.is_some() {
            cut.sign_in(&self.recorder, &self.providers, random).await?;
        }
        Ok(Some(()))
    }
}

impl Users {
    pub(super) async fn wait_for_answers(&mut self, answers: u64) -> Result<(), RunError> {
        Ok(self.answers.wait_for(|it| *it >= answers).await.map(drop)?)
    }

    /// Ends the load, and returns its logins.
    pub(super) async fn finish(mut self) -> Result<Vec<CutLogin>, RunError> {
        self.load.is_over.store(true, Ordering::Relaxed);
        let mut logins = Vec::new();
        while let Some(done) = self.tasks.join_next().await {
            logins.extend(done??);
        }
        Ok(logins)
    }
}

impl CutLogin {
    fn of(mut login: Login) -> Self {
        Self {
            browser: login.browser(),
            login,
            started: None,
            visit: None,
            callback_url: None,
            code: None,
            token: None,
        }
    }

    /// Waits a little after an error page, as a user does.
    async fn pause_if_unanswered(&self) {
        let last = self.login.history.operations.last();
        if last.is_some_and(|it| !it.is_definite()) {
            pause(PAUSE).await;
        }
    }

    /// The call that brings the login further; none, at its end.
    fn next_call(&mut self) -> Option<Call> {
        let last = self.login.history.operations.last();
        let last = last.and_then(|it| it.answer()).cloned();
        match (self.login.history.flow, last) {
            (Flow::Clean, None) => Some(self.login.start()),
            (Flow::Legacy, None) => Some(self.login.authorize(&self.browser)),
            (Flow::Clean, Some(Answer::Started)) => {
                let started = self.started.clone()?;
                Some(self.login.visit(&started, &self.browser))
            }
            (_, Some(Answer::FromProvider)) => {
                let callback_url = self.callback_url.as_ref()?;
                Some(self.visit.as_ref()?.deliver(callback_url))
            }
            (Flow::Clean, Some(Answer::ToCallback)) => Some(self.login.read()),
            (Flow::Legacy, Some(Answer::CallbackWithCode)) => self.redeem(),
            (Flow::Legacy, Some(Answer::Token)) => {
                let upstream_login = self.visit.as_ref()?.upstream_login;
                Some(login::revoke(upstream_login, self.token.as_ref()?))
            }
            _ => None,
        }
    }

    fn redeem(&self) -> Option<Call> {
        let upstream_login = self.visit.as_ref()?.upstream_login;
        Some(self.login.redeem(upstream_login, self.code.as_ref()?))
    }

    fn profile(&self) -> Option<Call> {
        let upstream_login = self.visit.as_ref()?.upstream_login;
        Some(login::profile(upstream_login, self.token.as_ref()?))
    }

    async fn perform(
        &mut self,
        recorder: &Recorder,
        endpoint: &Endpoint,
        call: &Call,
    ) -> Option<Response> {
        let recorded = recorder.perform(endpoint, call).await;
        let is_definite = recorded.operation.is_definite();
        self.login.record(recorded).filter(|_| is_definite)
    }

    /// Keeps what a response handed out.
    fn keep(&mut self, call: &Call, response: &Response) {
        if let Some(started) = Started::by(call, response) {
            self.started = Some(started);
        }
        if let Some(visit) = UpstreamVisit::by(call, &self.browser, response) {
            self.browser = visit.browser.clone();
            self.visit = Some(visit);
            self.callback_url = None;
        }
        self.code = self.code.take().or_else(|| response.code());
        let token = Some(response.text("access_token")).filter(|it| !it.is_empty());
        self.token = self.token.take().or(token);
    }

    async fn sign_in(
        &mut self,
        recorder: &Recorder,
        providers: &Providers,
        random: &mut Random,
    ) -> Result<(), RunError> {
        let Some(visit) = &self.visit else {
            return Ok(());
        };
        let script = Script::plain(self.login.history.provider, random);
        let signed_in = self.login.sign_in(providers, recorder, visit, script);
        self.callback_url = Some(signed_in.await?);
        Ok(())
    }

    fn last(&self) -> Option<&Outcome> {
        self.login.history.operations.last().map(|it| &it.outcome)
    }
}

impl CutLogin {
    /// Asks for everything that this login may still give, and counts the questions.
    pub(in crate::crash) async fn question(
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

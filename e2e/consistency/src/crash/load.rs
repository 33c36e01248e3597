//! Users who sign in while a broker dies, each as far as it happens to be, and the
//! questions about each login afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent::random::Random;
use agent::time::pause;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::RunError;
use crate::client::Response;
use crate::login::Login;
use crate::provider::{Providers, Script};
use crate::recorder::{Call, Endpoint, Recorder};
use checker::history::{Flow, Outcome};
use checker::model::{Answer, Provider, Visitor};

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
    browser: Visitor,
    /// The login that was started.
    started: Option<u8>,
    /// The upstream login that has begun, and whether the provider has answered it.
    upstream_login: Option<u8>,
    is_signed_in: bool,
}

/// The servers that a step of a login calls: a broker and the providers.
#[derive(Clone, Copy)]
pub(super) struct Servers<'a> {
    pub(super) recorder: &'a Recorder,
    pub(super) providers: &'a Providers,
    pub(super) endpoint: &'a Endpoint,
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
            let login = Login::any(logins.len() as u64, &mut random)?;
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
            let mut cut = CutLogin::of(Login::new(index, Flow::Clean, provider, &mut random)?);
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
        let servers = Servers {
            recorder: &self.recorder,
            providers: &self.providers,
            endpoint: random.pick(&self.endpoints),
        };
        let Some(call) = cut.next_call() else {
            return Ok(None);
        };
        let Some(response) = cut.perform(servers, &call).await else {
            return Ok(None);
        };
        self.answers.send_modify(|answers| *answers += 1);
        cut.keep(&call, &response);
        cut.sign_in(servers, random).await?;
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
            upstream_login: None,
            is_signed_in: false,
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
            (Flow::Legacy, None) => Some(self.login.authorize(self.browser)),
            (Flow::Clean, Some(Answer::Started)) => {
                Some(self.login.visit(self.started?, self.browser))
            }
            (_, Some(Answer::FromProvider)) => Some(self.login.deliver(self.upstream_login?)),
            (Flow::Clean, Some(Answer::ToCallback)) => Some(self.login.read()),
            (Flow::Legacy, Some(Answer::CallbackWithCode)) => {
                self.login.redeem(self.upstream_login?, None)
            }
            (Flow::Legacy, Some(Answer::Token)) => self.login.revoke(self.upstream_login?),
            _ => None,
        }
    }

    async fn perform(&mut self, servers: Servers<'_>, call: &Call) -> Option<Response> {
        let recorded = servers.recorder.perform(servers.endpoint, call).await;
        self.login.record(recorded)
    }

    /// Keeps what a response has started or begun.
    fn keep(&mut self, call: &Call, response: &Response) {
        self.started = call.started(response).or(self.started);
        if let Some(begun) = call.began(response) {
            self.upstream_login = Some(begun);
            self.is_signed_in = false;
        }
    }

    /// Lets the user sign in, unless the provider has answered already.
    async fn sign_in(&mut self, servers: Servers<'_>, random: &mut Random) -> Result<(), RunError> {
        let upstream_login = self.upstream_login.filter(|_| !self.is_signed_in);
        let Some(upstream_login) = upstream_login else {
            return Ok(());
        };
        let script = Script::plain(self.login.history.provider, random);
        let signed_in =
            self.login
                .sign_in(servers.providers, servers.recorder, upstream_login, script);
        signed_in.await?;
        self.is_signed_in = true;
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
        servers: Servers<'_>,
        random: &mut Random,
    ) -> Result<u64, RunError> {
        let before = self.login.history.operations.len();
        match self.login.history.flow {
            Flow::Clean => {
                self.question_clean(servers, random).await?;
            }
            Flow::Legacy => self.question_legacy(servers).await,
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
        servers: Servers<'_>,
        random: &mut Random,
    ) -> Result<(), RunError> {
        let read = self.login.read();
        self.perform(servers, &read).await;
        let is_pending = self.last() == Some(&Outcome::Answered(Answer::Pending));
        if let Some(started) = self.started.filter(|_| is_pending) {
            if self.upstream_login.is_some() {
                let other = self.login.browser();
                let intrusion = self.login.visit(started, other);
                self.perform(servers, &intrusion).await;
            } else {
                // A browser whose visit was not answered got no cookie.
                self.browser = self.login.browser();
            }
            let visit = self.login.visit(started, self.browser);
            if let Some(response) = self.perform(servers, &visit).await {
                self.is_signed_in = false;
                self.keep(&visit, &response);
            }
            if !self.is_signed_in {
                self.sign_in(servers, random).await?;
                self.deliver(servers).await;
            }
            self.perform(servers, &read).await;
        }
        self.perform(servers, &read).await;
        let again = self.login.start();
        self.perform(servers, &again).await;
        Ok(())
    }

    /// Delivers once more; redeems, and redeems again, which ends the token.
    async fn question_legacy(&mut self, servers: Servers<'_>) {
        let Some(upstream_login) = self.upstream_login else {
            return;
        };
        let redeem = self.login.redeem(upstream_login, None);
        let profile = self.login.profile(upstream_login);
        for call in [&profile, &redeem, &redeem, &profile].into_iter().flatten() {
            self.perform(servers, call).await;
        }
        for _ in 0..2 {
            self.deliver(servers).await;
        }
    }

    async fn deliver(&mut self, servers: Servers<'_>) {
        if let Some(upstream_login) = self.upstream_login.filter(|_| self.is_signed_in) {
            let delivery = self.login.deliver(upstream_login);
            self.perform(servers, &delivery).await;
        }
    }
}

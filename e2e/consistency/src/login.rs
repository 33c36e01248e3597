//! One login: it numbers its steps, has the [`Player`] make their calls, and records them.

use agent::backend::LegacyLogin;
use agent::random::Random;
use broker::model::LoginId;

use crate::RunError;
use crate::client::{CONSUMER, Response};
use crate::player::Player;
use crate::provider::{Providers, Script};
use crate::recorder::{Call, Recorded, Recorder};
use checker::history::{Flow, History};
use checker::model::{Project, Provider, Step, Visitor, Wrong};

/// The key of a clean login is that of its first login.
const KEY: u8 = 1;

/// One login: what is kept of it, and what was recorded.
pub(crate) struct Login {
    pub(crate) history: History,
    pub(crate) player: Player,
    /// The legacy flow's.
    transaction: Option<LegacyLogin>,
    logins: u8,
    upstream_logins: u8,
    browsers: u8,
}

impl Login {
    /// A login by either flow, at either provider.
    pub(crate) fn any(index: u64, random: &mut Random) -> Result<Self, RunError> {
        let provider = *random.pick(&Provider::ALL);
        let flow = match random.one_in(2) {
            true => Flow::Clean,
            false => Flow::Legacy,
        };
        Self::new(index, flow, provider, random)
    }

    /// A login by this flow, at this provider.
    pub(crate) fn new(
        index: u64,
        flow: Flow,
        provider: Provider,
        random: &mut Random,
    ) -> Result<Self, RunError> {
        let mut player = Player::new(std::slice::from_ref(&CONSUMER));
        let (id, transaction) = match flow {
            Flow::Clean => {
                let key = random.secret();
                let id = LoginId::of_key(&key.parse().map_err(|_| "a key has its form")?);
                player.give_key(KEY, || key);
                (id, None)
            }
            Flow::Legacy => {
                let (state, verifier) = (random.secret(), random.secret());
                let id = LoginId::of_state(&state.parse().map_err(|_| "a state has its form")?);
                (id, Some(LegacyLogin { state, verifier }))
            }
        };
        Ok(Self {
            history: History::new(index, flow, provider, id.as_str()),
            player,
            transaction,
            logins: 0,
            upstream_logins: 0,
            browsers: 0,
        })
    }

    /// A browser without any cookie.
    pub(crate) fn browser(&mut self) -> Visitor {
        self.browsers += 1;
        Visitor::Browser(self.browsers)
    }

    /// The call that takes a step.
    pub(crate) fn call(&self, step: Step) -> Call {
        let request = self.player.request(step);
        Call { step, request }
    }

    /// `POST /v1/login/session` with the key of this login.
    pub(crate) fn start(&mut self) -> Call {
        self.logins += 1;
        let at = self.history.provider;
        self.call(Step::start(self.logins, Project::A, at, None))
    }

    /// A visit of the authorization URL, from the consumer's page.
    pub(crate) fn visit(&mut self, login: u8, by: Visitor) -> Call {
        self.upstream_logins += 1;
        self.call(Step::visit(login, by, self.upstream_logins))
    }

    /// Continue, on the confirmation page.
    pub(crate) fn press_continue(&mut self, login: u8, by: Visitor) -> Call {
        self.upstream_logins += 1;
        self.call(Step::Continue {
            login,
            by,
            upstream_login: self.upstream_logins,
        })
    }

    /// `GET /authorize`
    pub(crate) fn authorize(&mut self, by: Visitor) -> Call {
        self.upstream_logins += 1;
        let transaction = self.transaction.clone();
        let transaction = transaction.expect("a clean login has no transaction");
        self.player
            .give_transaction(self.upstream_logins, transaction);
        let at = self.history.provider;
        self.call(Step::authorize(self.upstream_logins, by, Project::A, at))
    }

    /// The delivery of the provider's answer to the broker's callback.
    pub(crate) fn deliver(&self, upstream_login: u8) -> Call {
        let by = self.player.visitor(upstream_login);
        self.call(Step::Deliver { upstream_login, by })
    }

    /// `POST /v1/login/result`
    pub(crate) fn read(&self) -> Call {
        self.call(Step::read(Project::A, None))
    }

    /// `POST /v1/token`; none without a code.
    pub(crate) fn redeem(&self, upstream_login: u8, wrong: Option<Wrong>) -> Option<Call> {
        self.possible(Step::redeem(upstream_login, Project::A, wrong))
    }

    /// `GET /v1/profile`; none without a token.
    pub(crate) fn profile(&self, upstream_login: u8) -> Option<Call> {
        self.possible(Step::Profile { upstream_login })
    }

    /// `POST /v1/revoke`; none without a token.
    pub(crate) fn revoke(&self, upstream_login: u8) -> Option<Call> {
        self.possible(Step::Revoke { upstream_login })
    }

    fn possible(&self, step: Step) -> Option<Call> {
        self.player.can_take(step).then(|| self.call(step))
    }

    /// Adds an operation to the history, and keeps what it brought. The response, if it is one
    /// that tells what became of the operation.
    pub(crate) fn record(&mut self, recorded: Recorded) -> Option<Response> {
        let (operation, response) = (recorded.operation, recorded.response);
        let response = response.filter(|_| operation.is_definite());
        if let Some(response) = &response {
            self.player.keep(operation.step(), response);
        }
        self.history.operations.push(operation);
        response
    }

    /// Sends the browser of an upstream login to its provider, where `script` is played, and
    /// adds the sign-in.
    pub(crate) async fn sign_in(
        &mut self,
        providers: &Providers,
        recorder: &Recorder,
        upstream_login: u8,
        script: Script,
    ) -> Result<(), RunError> {
        let user = script.user.clone();
        let provider = self.history.provider;
        let signed_in = providers.sign_in(recorder, &self.player, provider, upstream_login, script);
        let (operation, response) = signed_in.await?;
        self.history.users.insert(upstream_login, user);
        self.player.keep(operation.step(), &response);
        self.history.operations.push(operation);
        Ok(())
    }
}

/// The answer of the first of these calls to succeed.
pub(crate) fn first<T>(
    calls: &[Call],
    responses: &[Option<Response>],
    read: impl Fn(&Call, &Response) -> Option<T>,
) -> Option<T> {
    let mut pairs = calls.iter().zip(responses);
    pairs.find_map(|(call, response)| read(call, response.as_ref()?))
}

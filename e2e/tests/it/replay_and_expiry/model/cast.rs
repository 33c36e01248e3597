//! Those who play a history: backends and browsers, with real keys, states and
//! codes behind the numbers of the script. They take each step over HTTP.

use std::collections::BTreeMap;

use mock_upstream::{Misbehaviour, Next, User};

use super::Answer;
use super::known::World;
use super::script::{Ending, Failure, Project, Provider, Step, Visitor, Wrong};
use super::stage::{Stage, aside, unregistered};
use crate::login::callback_code;
use testkit::backend::{Backend, Transaction};
use testkit::browser::Browser;
use testkit::fresh;
use testkit::http::Response;

/// One history's players.
pub(super) struct Cast<'a> {
    pub(super) stage: &'a mut Stage,
    /// What the reference machine knows.
    pub(super) world: World,
    browsers: [Browser; 3],
    keys: BTreeMap<u8, String>,
    addresses: BTreeMap<u8, String>,
    luggage: BTreeMap<u8, Luggage>,
}

/// What there really is of an upstream login, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Luggage {
    /// The legacy flow's.
    pub(super) transaction: Option<Transaction>,
    to_provider: String,
    answer: String,
    code: String,
    token: String,
}

impl<'a> Cast<'a> {
    /// The players of the next history on `stage`.
    pub(super) fn enter(stage: &'a mut Stage) -> Self {
        stage.begin_history();
        Self {
            stage,
            world: World::default(),
            browsers: [Browser::new(), Browser::new(), Browser::plain()],
            keys: BTreeMap::new(),
            addresses: BTreeMap::new(),
            luggage: BTreeMap::new(),
        }
    }

    /// Takes `step` in both worlds and returns what both answered.
    ///
    /// # Errors
    ///
    /// What the broker did, if the reference machine says otherwise.
    pub(super) async fn play(&mut self, step: Step) -> Result<Answer, String> {
        let before_ms = self.world.now_ms;
        let expected = self.world.step(step);
        match step {
            Step::Clock { .. } | Step::Wait { .. } => {
                self.stage.wait(self.world.now_ms - before_ms);
            }
            Step::Restart => self.stage.restart().await,
            _ => {
                let reply = self.ask(step).await;
                self.check(step, expected, &reply).map_err(|seen| {
                    format!("\"{step}\" must be answered by {expected:?}; it was by {seen}")
                })?;
                self.keep(step, expected, &reply);
            }
        }
        Ok(expected)
    }

    async fn ask(&mut self, step: Step) -> Response {
        match step {
            Step::Start {
                key, by, at, wrong, ..
            } => {
                let key = self.keys.entry(key).or_insert_with(fresh::secret).clone();
                let backend = self.backend(by, wrong, unregistered());
                backend.start_with_key(&key, at.word()).await
            }
            Step::Visit { login, by, .. } => self.browser(by).open(&self.addresses[&login]).await,
            Step::Authorize {
                upstream_login,
                by,
                project,
                at,
            } => {
                let transaction = self.stage.backend(project).start_authorization(at.word());
                let url = transaction.url.clone();
                self.luggage.entry(upstream_login).or_default().transaction = Some(transaction);
                self.browser(by).open(&url).await
            }
            Step::SignIn {
                upstream_login,
                ending,
            } => self.sign_in(upstream_login, ending).await,
            Step::Deliver { upstream_login, by } => {
                self.browser(by)
                    .open(&self.luggage[&upstream_login].answer)
                    .await
            }
            Step::Read { login, by, wrong } => {
                let key = &self.keys[&self.world.logins[&login].key];
                self.backend(by, wrong, aside()).result(key).await
            }
            Step::Redeem {
                upstream_login,
                by,
                wrong,
            } => self.redeem(upstream_login, by, wrong).await,
            Step::Profile { upstream_login } => {
                self.bearer()
                    .profile(&self.luggage[&upstream_login].token)
                    .await
            }
            Step::Revoke { upstream_login } => {
                self.bearer()
                    .revoke(&self.luggage[&upstream_login].token)
                    .await
            }
            Step::Clock { .. } | Step::Wait { .. } | Step::Restart => {
                unreachable!("nobody is asked")
            }
        }
    }

    /// The traveller goes to the provider, where the script says what happens.
    async fn sign_in(&self, upstream_login: u8, ending: Ending) -> Response {
        let next = match ending {
            Ok(()) => Next::User(self.person(upstream_login)),
            Err(Failure::Denied) => Next::Misbehave(Misbehaviour::Deny),
            Err(Failure::Unavailable) => Next::Misbehave(Misbehaviour::Reset),
            Err(Failure::Invalid) => Next::Misbehave(Misbehaviour::TokenRefused),
        };
        let known = &self.world.upstream_logins[&upstream_login];
        self.stage
            .upstream(known.provider)
            .queue(next)
            .expect("both know it");
        let to_provider = &self.luggage[&upstream_login].to_provider;
        self.browser(known.visitor).open(to_provider).await
    }

    async fn redeem(&self, upstream_login: u8, by: Project, wrong: Option<Wrong>) -> Response {
        let luggage = &self.luggage[&upstream_login];
        let mut transaction = luggage
            .transaction
            .clone()
            .expect("it is a legacy upstream login");
        if wrong == Some(Wrong::Verifier) {
            transaction.verifier = fresh::secret();
        }
        let backend = self.backend(by, wrong, aside());
        backend.redeem(&transaction, &luggage.code).await
    }

    /// Keeps what an answer, as it was expected, handed out.
    fn keep(&mut self, step: Step, answer: Answer, reply: &Response) {
        let location = || reply.location().expect("a redirect").to_owned();
        let text = |field| reply.json()[field].as_str().expect("a string").to_owned();
        match (step, answer) {
            (Step::Start { login, .. }, Answer::Started) => {
                self.addresses.insert(login, text("authorization_url"));
            }
            (
                Step::Visit { upstream_login, .. } | Step::Authorize { upstream_login, .. },
                Answer::ToProvider,
            ) => {
                self.luggage.entry(upstream_login).or_default().to_provider = location();
            }
            (Step::SignIn { upstream_login, .. }, _) => {
                self.luggage_mut(upstream_login).answer = location();
            }
            (Step::Deliver { upstream_login, .. }, Answer::HomeWithCode) => {
                let transaction = self.transaction(upstream_login);
                let code = callback_code(self.bearer(), transaction, &location());
                self.luggage_mut(upstream_login).code = code;
            }
            (Step::Redeem { upstream_login, .. }, Answer::Token) => {
                self.luggage_mut(upstream_login).token = text("access_token");
            }
            _ => {}
        }
    }

    fn luggage_mut(&mut self, upstream_login: u8) -> &mut Luggage {
        self.luggage.get_mut(&upstream_login).expect("it has begun")
    }

    /// What the consumer keeps of a legacy upstream login.
    pub(super) fn transaction(&self, upstream_login: u8) -> &Transaction {
        let transaction = self.luggage[&upstream_login].transaction.as_ref();
        transaction.expect("it is a legacy upstream login")
    }

    fn browser(&self, visitor: Visitor) -> &Browser {
        match visitor {
            Visitor::Ann => &self.browsers[0],
            Visitor::Bob => &self.browsers[1],
            Visitor::Curl => &self.browsers[2],
        }
    }

    /// A project's backend, with what it gets wrong.
    fn backend(&self, project: Project, wrong: Option<Wrong>, wrong_callback: String) -> Backend {
        let mut backend = self.stage.backend(project).clone();
        match wrong {
            Some(Wrong::Secret) => backend.client_secret = fresh::secret(),
            Some(Wrong::Callback) => backend.callback = wrong_callback,
            Some(Wrong::Verifier) | None => {}
        }
        backend
    }

    /// Whoever bears a token: it does not matter who that is.
    fn bearer(&self) -> &Backend {
        self.stage.backend(Project::B)
    }

    /// Who signs in on `upstream_login`: somebody else on every upstream login of every history.
    pub(super) fn person(&self, upstream_login: u8) -> User {
        let id = format!("{}{upstream_login}", self.stage.histories);
        User {
            name: Some(format!("Person {id}")),
            username: Some(format!("person-{id}")),
            picture: Some(format!("https://pictures.example/{id}.png")),
            id,
            ..User::default()
        }
    }
}

impl Provider {
    /// The word for it on the wire.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::GitHub => "github",
        }
    }
}

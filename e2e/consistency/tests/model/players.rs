//! The backends and browsers of a history, with real keys, states and codes behind the
//! numbers of the script. They take each step over HTTP.

use std::collections::BTreeMap;

use consistency::model::{Answer, Ending, Failure, Project, Step, Visitor, Wrong};
use mock_upstream::{Misbehaviour, Next, User};

use crate::fixture::{Fixture, second_callback, unregistered};
use crate::script::{Line, TimedModel};
use testkit::backend::{Backend, LegacyLogin};
use testkit::browser::Browser;
use testkit::fresh;
use testkit::http::Response;
use testkit::login::callback_code;

/// The players of one history.
pub(crate) struct Players<'a> {
    pub(crate) fixture: &'a mut Fixture,
    /// The model beside them.
    pub(crate) timed: TimedModel,
    browsers: [Browser; 3],
    keys: BTreeMap<u8, String>,
    addresses: BTreeMap<u8, String>,
    values: BTreeMap<u8, Values>,
}

/// The values of an upstream login, as far as it is.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// The legacy flow's.
    pub(crate) transaction: Option<LegacyLogin>,
    to_provider: String,
    answer: String,
    code: String,
    token: String,
}

impl<'a> Players<'a> {
    /// The players of the next history on `fixture`.
    pub(crate) fn enter(fixture: &'a mut Fixture) -> Self {
        fixture.begin_history();
        Self {
            fixture,
            timed: TimedModel::default(),
            browsers: [Browser::new(), Browser::new(), Browser::plain()],
            keys: BTreeMap::new(),
            addresses: BTreeMap::new(),
            values: BTreeMap::new(),
        }
    }

    /// Plays `line` to the model and to the broker, and returns the answer of both.
    ///
    /// # Errors
    ///
    /// The broker's answer, if it is not the model's.
    pub(crate) async fn play(&mut self, line: Line) -> Result<Option<Answer>, String> {
        let before_ms = self.timed.now_ms;
        let expected = self.timed.step(line);
        if let (Line::Do(step), Some(expected)) = (line, &expected) {
            let reply = self.ask(step).await;
            self.check(step, expected, &reply).map_err(|seen| {
                format!("\"{step}\" must be answered by {expected:?}; it was by {seen}")
            })?;
            self.keep(step, expected, &reply);
        }
        if line == Line::Restart {
            self.fixture.restart().await;
        }
        if self.timed.now_ms > before_ms {
            self.fixture.wait(self.timed.now_ms - before_ms);
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
                backend.start_with_key(&key, at.name()).await
            }
            Step::Visit { login, by, .. } => self.browser(by).open(&self.addresses[&login]).await,
            Step::Authorize {
                upstream_login,
                by,
                project,
                at,
            } => {
                let transaction = self.fixture.backend(project).start_authorization(at.name());
                let url = transaction.url.clone();
                self.values.entry(upstream_login).or_default().transaction = Some(transaction);
                self.browser(by).open(&url).await
            }
            Step::SignIn {
                upstream_login,
                ending,
            } => self.sign_in(upstream_login, ending).await,
            Step::Deliver { upstream_login, by } => {
                self.browser(by)
                    .open(&self.values[&upstream_login].answer)
                    .await
            }
            Step::Read { key, by, wrong } => {
                let key = &self.keys[&key];
                self.backend(by, wrong, second_callback()).result(key).await
            }
            Step::Redeem {
                upstream_login,
                by,
                wrong,
            } => self.redeem(upstream_login, by, wrong).await,
            Step::Profile { upstream_login } => {
                self.bearer()
                    .profile(&self.values[&upstream_login].token)
                    .await
            }
            Step::Revoke { upstream_login } => {
                self.bearer()
                    .revoke(&self.values[&upstream_login].token)
                    .await
            }
            Step::VisitUnvouched { .. } | Step::Cancel { .. } => {
                unreachable!("no script has a confirmation page")
            }
        }
    }

    /// The visitor goes to the provider, where the script decides what happens.
    async fn sign_in(&self, upstream_login: u8, ending: Ending) -> Response {
        let next = match ending {
            Ending::Success => Next::User(self.person(upstream_login)),
            Ending::Error(_) => Next::Misbehave(Misbehaviour::Deny),
            Ending::BadCode(Failure::Unavailable) => Next::Misbehave(Misbehaviour::Reset),
            Ending::BadCode(_) => Next::Misbehave(Misbehaviour::TokenRefused),
        };
        let known = &self.timed.model.upstream_logins[&upstream_login];
        self.fixture
            .upstream(known.provider)
            .queue(next)
            .expect("both know it");
        let to_provider = &self.values[&upstream_login].to_provider;
        self.browser(known.visitor).open(to_provider).await
    }

    async fn redeem(&self, upstream_login: u8, by: Project, wrong: Option<Wrong>) -> Response {
        let values = &self.values[&upstream_login];
        let mut transaction = values
            .transaction
            .clone()
            .expect("it is a legacy upstream login");
        if wrong == Some(Wrong::Verifier) {
            transaction.verifier = fresh::secret();
        }
        let backend = self.backend(by, wrong, second_callback());
        backend.redeem(&transaction, &values.code).await
    }

    /// Keeps what an expected answer handed out.
    fn keep(&mut self, step: Step, answer: &Answer, reply: &Response) {
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
                self.values.entry(upstream_login).or_default().to_provider = location();
            }
            (Step::SignIn { upstream_login, .. }, _) => {
                self.values_mut(upstream_login).answer = location();
            }
            (Step::Deliver { upstream_login, .. }, Answer::CallbackWithCode) => {
                let transaction = self.transaction(upstream_login);
                let code = callback_code(self.bearer(), transaction, &location());
                self.values_mut(upstream_login).code = code;
            }
            (Step::Redeem { upstream_login, .. }, Answer::Token) => {
                self.values_mut(upstream_login).token = text("access_token");
            }
            _ => {}
        }
    }

    fn values_mut(&mut self, upstream_login: u8) -> &mut Values {
        self.values.get_mut(&upstream_login).expect("it has begun")
    }

    /// The consumer's state of a legacy upstream login.
    pub(crate) fn transaction(&self, upstream_login: u8) -> &LegacyLogin {
        let transaction = self.values[&upstream_login].transaction.as_ref();
        transaction.expect("it is a legacy upstream login")
    }

    fn browser(&self, visitor: Visitor) -> &Browser {
        match visitor {
            Visitor::Browser(1) => &self.browsers[0],
            Visitor::Browser(_) => &self.browsers[1],
            Visitor::Curl => &self.browsers[2],
        }
    }

    /// A project's backend, with what it gets wrong.
    fn backend(&self, project: Project, wrong: Option<Wrong>, wrong_callback: String) -> Backend {
        let mut backend = self.fixture.backend(project).clone();
        match wrong {
            Some(Wrong::Secret) => backend.client_secret = fresh::secret(),
            Some(Wrong::Callback) => backend.callback = wrong_callback,
            Some(Wrong::Verifier) | None => {}
        }
        backend
    }

    /// A bearer of tokens: it does not matter which project that is.
    fn bearer(&self) -> &Backend {
        self.fixture.backend(Project::B)
    }

    /// The user of `upstream_login`: another on every upstream login of every history.
    pub(crate) fn person(&self, upstream_login: u8) -> User {
        let id = format!("{}{upstream_login}", self.fixture.histories);
        User {
            name: Some(format!("User {id}")),
            username: Some(format!("person-{id}")),
            picture: Some(format!("https://pictures.example/{id}.png")),
            id,
            ..User::default()
        }
    }
}

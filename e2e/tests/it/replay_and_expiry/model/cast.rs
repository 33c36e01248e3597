//! Those who play a history: backends and browsers, with real keys, states and
//! codes behind the numbers of the script. They take each step over HTTP.

use std::collections::BTreeMap;

use mock_upstream::{Misbehaviour, Next, Person};

use super::Answer;
use super::known::World;
use super::script::{Ending, Failure, Project, Provider, Step, Visitor, Wrong};
use super::stage::{Stage, aside, unregistered};
use crate::backend::{Backend, Transaction};
use crate::browser::Browser;
use crate::fresh;
use crate::login::code_in;
use crate::reply::Reply;

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

/// What there really is of a trip, as far as it has come.
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

    async fn ask(&mut self, step: Step) -> Reply {
        match step {
            Step::Start {
                key, by, at, wrong, ..
            } => {
                let key = self.keys.entry(key).or_insert_with(fresh::secret).clone();
                let backend = self.backend(by, wrong, unregistered());
                backend.start_with(&key, at.word()).await
            }
            Step::Visit { login, by, .. } => self.browser(by).open(&self.addresses[&login]).await,
            Step::Authorize {
                trip,
                by,
                project,
                at,
            } => {
                let transaction = self.stage.backend(project).start_authorization(at.word());
                let url = transaction.url.clone();
                self.luggage.entry(trip).or_default().transaction = Some(transaction);
                self.browser(by).open(&url).await
            }
            Step::SignIn { trip, ending } => self.sign_in(trip, ending).await,
            Step::Deliver { trip, by } => self.browser(by).open(&self.luggage[&trip].answer).await,
            Step::Read { login, by, wrong } => {
                let key = &self.keys[&self.world.logins[&login].key];
                self.backend(by, wrong, aside()).result(key).await
            }
            Step::Redeem { trip, by, wrong } => self.redeem(trip, by, wrong).await,
            Step::Profile { trip } => self.bearer().profile(&self.luggage[&trip].token).await,
            Step::Revoke { trip } => self.bearer().revoke(&self.luggage[&trip].token).await,
            Step::Clock { .. } | Step::Wait { .. } | Step::Restart => {
                unreachable!("nobody is asked")
            }
        }
    }

    /// The traveller goes to the provider, where the script says what happens.
    async fn sign_in(&self, trip: u8, ending: Ending) -> Reply {
        let next = match ending {
            Ok(()) => Next::Person(self.person(trip)),
            Err(Failure::Denied) => Next::Misbehave(Misbehaviour::Deny),
            Err(Failure::Unavailable) => Next::Misbehave(Misbehaviour::Reset),
            Err(Failure::Invalid) => Next::Misbehave(Misbehaviour::TokenRefused),
        };
        let known = &self.world.trips[&trip];
        self.stage
            .upstream(known.provider)
            .queue(next)
            .expect("both know it");
        let to_provider = &self.luggage[&trip].to_provider;
        self.browser(known.visitor).open(to_provider).await
    }

    async fn redeem(&self, trip: u8, by: Project, wrong: Option<Wrong>) -> Reply {
        let luggage = &self.luggage[&trip];
        let mut transaction = luggage.transaction.clone().expect("it is a legacy trip");
        if wrong == Some(Wrong::Verifier) {
            transaction.verifier = fresh::secret();
        }
        let backend = self.backend(by, wrong, aside());
        backend.redeem(&transaction, &luggage.code).await
    }

    /// Keeps what an answer, as it was expected, handed out.
    fn keep(&mut self, step: Step, answer: Answer, reply: &Reply) {
        let location = || reply.location().expect("a redirect").to_owned();
        let text = |field| reply.json()[field].as_str().expect("a string").to_owned();
        match (step, answer) {
            (Step::Start { login, .. }, Answer::Started) => {
                self.addresses.insert(login, text("authorization_url"));
            }
            (Step::Visit { trip, .. } | Step::Authorize { trip, .. }, Answer::ToProvider) => {
                self.luggage.entry(trip).or_default().to_provider = location();
            }
            (Step::SignIn { trip, .. }, _) => self.luggage_mut(trip).answer = location(),
            (Step::Deliver { trip, .. }, Answer::HomeWithCode) => {
                let transaction = self.transaction(trip);
                let code = code_in(self.bearer(), transaction, &location());
                self.luggage_mut(trip).code = code;
            }
            (Step::Redeem { trip, .. }, Answer::Token) => {
                self.luggage_mut(trip).token = text("access_token");
            }
            _ => {}
        }
    }

    fn luggage_mut(&mut self, trip: u8) -> &mut Luggage {
        self.luggage.get_mut(&trip).expect("it has begun")
    }

    /// What the consumer keeps of a legacy trip.
    pub(super) fn transaction(&self, trip: u8) -> &Transaction {
        let transaction = self.luggage[&trip].transaction.as_ref();
        transaction.expect("it is a legacy trip")
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

    /// Who signs in on `trip`: somebody else on every trip of every history.
    pub(super) fn person(&self, trip: u8) -> Person {
        let id = format!("{}{trip}", self.stage.histories);
        Person {
            name: Some(format!("Person {id}")),
            username: Some(format!("person-{id}")),
            picture: Some(format!("https://pictures.example/{id}.png")),
            id,
            ..Person::default()
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

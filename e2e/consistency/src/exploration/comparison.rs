//! Plays a history to the brokers, over HTTP, and to the model beside them, and compares: the
//! bytes of each answer, the exchanges with the providers, the line of the log, and the rows.

use std::borrow::Borrow;
use std::fmt::{Debug, Display};

use agent::backend::LegacyLogin;
use agent::random::secret;
use checker::history::History;
use checker::model::{Answer, Ending, Failure, Provider, Step, Visitor};
use mock_upstream::{Misbehaviour, Next, User};
use serde_json::{Value, json};
use testkit::fresh;
use testkit::http::{PENDING, REFUSED, UNRECOGNISED};

use super::brokers::Brokers;
use super::rows;
use super::script::{Line, TimedModel};
use super::world::World;
use crate::RunError;
use crate::client::{BASE_URL, CALLBACK, CONSUMER, OTHER, Response};
use crate::player::Player;
use crate::provider::{Script, imitated, user};
use crate::recorder::Call;

/// One history.
pub(crate) struct Comparison<'b> {
    pub(super) brokers: &'b mut Brokers,
    pub(super) player: Player,
    /// The model beside the brokers.
    pub(super) timed: TimedModel,
    /// The operations and the users so far, for the checker.
    pub(super) history: History,
}

impl<'b> Comparison<'b> {
    /// The next history on `brokers`.
    pub(crate) async fn begin(brokers: &'b mut Brokers, world: &World) -> Result<Self, RunError> {
        brokers.begin_history().await?;
        Ok(Self {
            player: Player::new(&[CONSUMER.clone(), OTHER.clone()]),
            timed: TimedModel::default(),
            history: History::new(brokers.histories, world.flow, world.provider, ""),
            brokers,
        })
    }

    /// Plays one line after the other.
    pub(crate) async fn play_all(&mut self, lines: &[Line]) -> Result<(), RunError> {
        for line in lines {
            self.play(*line).await?;
        }
        Ok(())
    }

    /// Plays `line` to the model and to the brokers.
    ///
    /// # Errors
    ///
    /// The first deviation of the brokers from the model.
    pub(crate) async fn play(&mut self, line: Line) -> Result<(), RunError> {
        let before = self.timed.clone();
        let answer = self.timed.step(line);
        match (line, answer) {
            (Line::Do(step), Some(answer)) => {
                let steps = self.timed.model.committed.since(before.model.committed);
                self.take(step, &answer, &steps.names()).await?;
            }
            _ => {
                let ms = self.timed.now_ms - before.now_ms;
                self.brokers.advance_ms(ms).await?;
            }
        }
        let (expected, found) = (rows::expected(&self.timed), self.brokers.rows().await?);
        deviates(&line, "the rows", &expected, &found)
    }

    async fn take(&mut self, step: Step, answer: &Answer, steps: &str) -> Result<(), RunError> {
        let (operation, response) = match step {
            Step::SignIn { upstream_login, .. } => {
                let script = self.script(step);
                let user = script.user.clone();
                self.history.users.insert(upstream_login, user);
                let (recorder, providers) = (&self.brokers.recorder, &self.brokers.providers);
                let provider = self.history.provider;
                let signed_in =
                    providers.sign_in(recorder, &self.player, provider, upstream_login, script);
                signed_in.await?
            }
            _ => {
                let call = self.call(step);
                self.brokers.perform(&call).await?
            }
        };
        if !self.is(step, answer, &response) {
            let found = describe(&response);
            return Err(
                format!("\"{step}\" must be answered by {answer:?}; it was by {found}").into(),
            );
        }
        self.player.keep(step, &response);
        self.history.operations.push(operation);
        let due = usize::from(self.timed.model.exchanges);
        let exchanges = self.brokers.exchanges();
        deviates(&step, "the exchanges with providers", &due, &exchanges)?;
        match step {
            Step::SignIn { .. } => Ok(()),
            _ => self.compare_log(step, steps, &response).await,
        }
    }

    async fn compare_log(
        &mut self,
        step: Step,
        steps: &str,
        response: &Response,
    ) -> Result<(), RunError> {
        let logged = self.brokers.logged(response).await?;
        deviates(&step, "the steps in the log", steps, &logged.steps)?;
        deviates(
            &step,
            "the status in the log",
            &response.status,
            &logged.status,
        )?;
        match response.status >= 400 && logged.rule.is_empty() {
            true => Err(format!("\"{step}\" was refused by no rule").into()),
            false => Ok(()),
        }
    }

    /// The call that takes a step, with secrets of its own.
    pub(super) fn call(&mut self, step: Step) -> Call {
        match step {
            Step::Start { key, .. } => self.player.give_key(key, secret),
            Step::Authorize { upstream_login, .. } => {
                let (state, verifier) = (secret(), secret());
                let transaction = LegacyLogin { state, verifier };
                self.player.give_transaction(upstream_login, transaction);
            }
            _ => {}
        }
        let request = self.player.request(step);
        Call { step, request }
    }

    /// The orders to the provider for a sign-in.
    fn script(&self, step: Step) -> Script {
        let Step::SignIn {
            upstream_login,
            ending,
        } = step
        else {
            unreachable!("only a sign-in has a script");
        };
        let person = self.person(upstream_login);
        let user = user(self.history.provider, &person.id);
        let next = match ending {
            Ending::Success => Next::User(person),
            Ending::Error(_) => Next::Misbehave(Misbehaviour::Deny),
            Ending::BadCode(Failure::Unavailable) => Next::Misbehave(Misbehaviour::Reset),
            Ending::BadCode(_) => Next::Misbehave(Misbehaviour::TokenRefused),
        };
        Script::of(next, user, ending)
    }

    /// The user of `upstream_login`: another on every upstream login of every history.
    fn person(&self, upstream_login: u8) -> User {
        let id = format!("{}{upstream_login}", self.brokers.histories);
        User {
            name: Some(format!("User {id}")),
            username: Some(format!("person-{id}")),
            picture: Some(format!("https://pictures.example/{id}.png")),
            id,
            ..User::default()
        }
    }

    fn is(&self, step: Step, expected: &Answer, reply: &Response) -> bool {
        let says = |status, body: &str| reply.status == status && reply.body == body;
        let holds = |body| reply.status == 200 && reply.json() == body;
        let sends = |url: &str| reply.status == 303 && location(reply) == Some(url);
        let brings = |name: &str, value: &str| {
            let Step::Deliver { upstream_login, .. } = step else {
                return false;
            };
            let state = &self.player.transaction(upstream_login).state;
            sends(&format!("{CALLBACK}?{name}={value}&state={state}"))
        };
        match *expected {
            Answer::ConfirmationPage => reply.status == 200 && reply.body.contains("/continue\""),
            Answer::Started => {
                let mut answer = reply.json();
                let url = answer["authorization_url"].take();
                let begin = format!("{BASE_URL}/login/");
                let is_ours = url.as_str().is_some_and(|url| url.starts_with(&begin));
                let rest = json!({ "authorization_url": null, "expires_in": 600 });
                reply.status == 200 && answer == rest && is_ours
            }
            Answer::Refused => says(400, REFUSED),
            Answer::Unrecognised => says(401, UNRECOGNISED),
            Answer::Pending => says(200, PENDING),
            Answer::Succeeded(upstream_login) => {
                holds(json!({ "status": "succeeded", "profile": self.profile(upstream_login) }))
            }
            Answer::Failed(failure) => {
                holds(json!({ "status": "failed", "error": failure.name() }))
            }
            Answer::ToProvider => self.is_way_to_provider(step, reply),
            Answer::FromProvider => reply.location.starts_with(&format!("{BASE_URL}/callback/")),
            Answer::ToCallback => match step {
                Step::Visit { login, .. } | Step::VisitUnvouched { login, .. } => {
                    self.ends_a_fragment(login, reply)
                }
                _ => sends(CALLBACK),
            },
            Answer::CallbackWithCode => reply.code().is_some_and(|code| brings("code", &code)),
            Answer::CallbackWithError(failure) => brings("error", failure.name()),
            Answer::NotThisBrowser
            | Answer::UpstreamLoginOver
            | Answer::NotKnown
            | Answer::AnotherBrowser => is_page(step, expected, reply),
            Answer::Token => {
                let mut answer = reply.json();
                // Its form is the contract's.
                let token = answer["access_token"].take();
                let rest = json!({
                    "access_token": null, "token_type": "Bearer", "expires_in": 900, "scope": "profile",
                });
                let is_cached = reply
                    .headers
                    .get("pragma")
                    .is_none_or(|it| it != "no-cache");
                reply.status == 200 && answer == rest && token.is_string() && !is_cached
            }
            Answer::Profile(upstream_login) => holds(self.profile(upstream_login)),
            Answer::Revoked => says(200, "{}"),
        }
    }

    /// A visit may have come with a fragment, which ends on the way to the callback of
    /// its login's own project.
    fn ends_a_fragment(&self, login: u8, reply: &Response) -> bool {
        let project = self.timed.model.logins[&login].project;
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &self.player.project(project).client_id)
            .append_pair("redirect_uri", CALLBACK)
            .finish();
        let way = format!("{BASE_URL}/return?{query}#");
        reply.status == 303 && location(reply) == Some(&way)
    }

    fn is_way_to_provider(&self, step: Step, reply: &Response) -> bool {
        let provider = self
            .brokers
            .cluster
            .upstream
            .provider(imitated(self.history.provider));
        let begins = |url: &str| url.starts_with(provider.url()) && url.ends_with('#');
        let may_begin = step.begins().is_some();
        may_begin && reply.status == 303 && location(reply).is_some_and(begins)
    }

    /// The profile of the user of `upstream_login`.
    fn profile(&self, upstream_login: u8) -> Value {
        let person = self.person(upstream_login);
        let provider = self.history.provider;
        json!({
            "subject": fresh::subject(provider.name(), &person.id),
            "provider": provider.name(),
            "providerSubject": person.id,
            "name": person.name,
            "username": person.username.filter(|_| provider == Provider::GitHub),
            "email": null,
            "emailVerified": false,
            "avatarUrl": person.picture,
        })
    }
}

/// An error where something is not as it is expected.
fn deviates<T: PartialEq + Debug + ?Sized>(
    after: &dyn Display,
    what: &str,
    expected: &T,
    found: &(impl Borrow<T> + ?Sized),
) -> Result<(), RunError> {
    let found = found.borrow();
    match expected == found {
        true => Ok(()),
        false => {
            Err(format!("after \"{after}\", {what} must be {expected:?}; found {found:?}").into())
        }
    }
}

fn describe(reply: &Response) -> String {
    match location(reply) {
        Some(url) => format!("{} to {url}", reply.status),
        None => format!("{} {}", reply.status, reply.body),
    }
}

/// The address of a redirect, byte for byte.
fn location(reply: &Response) -> Option<&str> {
    reply.headers.get("location")?.to_str().ok()
}

/// A page for a browser; for a client that asks for none, the generic error.
fn is_page(step: Step, expected: &Answer, reply: &Response) -> bool {
    let (status, title, message) = match expected {
        Answer::NotThisBrowser => (
            400,
            "This sign-in did not begin in this browser",
            "The request was refused.",
        ),
        Answer::UpstreamLoginOver => (400, "This sign-in is over", "The request was refused."),
        Answer::NotKnown => (404, "This sign-in is over", "There is nothing here."),
        Answer::AnotherBrowser => (
            410,
            "This sign-in belongs to another browser",
            "This belongs to another browser.",
        ),
        _ => return false,
    };
    let Some(by) = step.by() else {
        return false;
    };
    let is_right = if by == Visitor::Curl {
        reply.json() == json!({ "error": "request_failed", "message": message })
    } else {
        reply.body.contains(&format!("<h1>{title}</h1>"))
    };
    reply.status == status && location(reply).is_none() && is_right
}

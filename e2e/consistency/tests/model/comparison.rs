//! Plays a script to the broker, over HTTP, and to the model beside it, and compares: the bytes
//! of each answer, and the number of exchanges with the providers.

use agent::backend::LegacyLogin;
use consistency::client::{BASE_URL, CALLBACK, Response};
use consistency::model::{Answer, Ending, Failure, Provider, Step, Visitor};
use consistency::player::Player;
use mock_upstream::{Misbehaviour, Next, User};
use serde_json::{Value, json};
use testkit::backend::Backend;
use testkit::fresh;
use testkit::http::{PENDING, REFUSED, UNRECOGNISED};

use crate::fixture::Fixture;
use crate::script::{Line, TimedModel};

/// One history at the broker of a fixture.
pub(crate) struct Comparison<'a> {
    fixture: &'a mut Fixture,
    player: Player,
    /// The model beside it.
    pub(crate) timed: TimedModel,
}

impl<'a> Comparison<'a> {
    /// The next history on `fixture`.
    pub(crate) fn begin(fixture: &'a mut Fixture) -> Self {
        fixture.begin_history();
        let projects: Vec<_> = fixture.backends.iter().map(Backend::project).collect();
        Self {
            player: Player::new(&projects),
            timed: TimedModel::default(),
            fixture,
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
            self.prepare(step);
            let reply = self.fixture.send(&self.player.request(step)).await;
            self.check(step, expected, &reply).map_err(|seen| {
                format!("\"{step}\" must be answered by {expected:?}; it was by {seen}")
            })?;
            self.player.keep(step, &reply);
        }
        if line == Line::Restart {
            self.fixture.restart().await;
        }
        if self.timed.now_ms > before_ms {
            self.fixture.wait(self.timed.now_ms - before_ms);
        }
        Ok(expected)
    }

    /// Draws the secrets of a step, and tells the provider what is to happen.
    fn prepare(&mut self, step: Step) {
        match step {
            Step::Start { key, .. } => self.player.give_key(key, fresh::secret),
            Step::Authorize { upstream_login, .. } => {
                let (state, verifier) = (fresh::secret(), fresh::secret());
                let transaction = LegacyLogin { state, verifier };
                self.player.give_transaction(upstream_login, transaction);
            }
            Step::SignIn {
                upstream_login,
                ending,
            } => {
                let next = match ending {
                    Ending::Success => Next::User(self.person(upstream_login)),
                    Ending::Error(_) => Next::Misbehave(Misbehaviour::Deny),
                    Ending::BadCode(Failure::Unavailable) => Next::Misbehave(Misbehaviour::Reset),
                    Ending::BadCode(_) => Next::Misbehave(Misbehaviour::TokenRefused),
                };
                let provider = self.fixture.upstream(self.provider(upstream_login));
                provider.queue(next).expect("both know it");
            }
            _ => {}
        }
    }

    fn provider(&self, upstream_login: u8) -> Provider {
        self.timed.model.upstream_logins[&upstream_login].provider
    }

    /// The user of `upstream_login`: another on every upstream login of every history.
    fn person(&self, upstream_login: u8) -> User {
        let id = format!("{}{upstream_login}", self.fixture.histories);
        User {
            name: Some(format!("User {id}")),
            username: Some(format!("person-{id}")),
            picture: Some(format!("https://pictures.example/{id}.png")),
            id,
            ..User::default()
        }
    }

    /// Compares what the broker did with what it must do.
    ///
    /// # Errors
    ///
    /// The broker's deviation from the expected answer.
    fn check(&self, step: Step, expected: &Answer, reply: &Response) -> Result<(), String> {
        if !self.is(step, expected, reply) {
            return Err(describe(reply));
        }
        let asked = self.fixture.exchanges();
        let due = usize::from(self.timed.model.exchanges);
        if asked != due {
            return Err(format!(
                "providers that were asked for {asked} exchanges in all, not for {due}"
            ));
        }
        Ok(())
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
            Answer::ConfirmationPage => false,
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
                Step::Visit { login, .. } => self.ends_a_fragment(login, reply),
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
                reply.status == 200 && answer == rest && token.is_string()
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
        let Some(upstream_login) = step.begins() else {
            return false;
        };
        let provider = self.fixture.upstream(self.provider(upstream_login));
        let begins = |url: &str| url.starts_with(provider.url()) && url.ends_with('#');
        reply.status == 303 && location(reply).is_some_and(begins)
    }

    /// The profile of the user of `upstream_login`.
    fn profile(&self, upstream_login: u8) -> Value {
        let person = self.person(upstream_login);
        let provider = self.provider(upstream_login);
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
    let (Step::Visit { by, .. } | Step::Deliver { by, .. }) = step else {
        return false;
    };
    let is_right = if by == Visitor::Curl {
        reply.json() == json!({ "error": "request_failed", "message": message })
    } else {
        reply.body.contains(&format!("<h1>{title}</h1>"))
    };
    reply.status == status && location(reply).is_none() && is_right
}

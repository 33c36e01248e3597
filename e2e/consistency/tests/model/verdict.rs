//! The bytes of each answer of the reference model on the wire.

use consistency::model::{Answer, Project, Provider, Step, Visitor};
use serde_json::{Value, json};

use crate::fixture;
use crate::players::Players;
use testkit::fresh;
use testkit::http::{PENDING, REFUSED, Response, UNRECOGNISED};
use testkit::login::callback_answer;

impl Players<'_> {
    /// Compares what the broker did with what it must do.
    ///
    /// # Errors
    ///
    /// The broker's deviation from the expected answer.
    pub(crate) fn check(
        &self,
        step: Step,
        expected: &Answer,
        reply: &Response,
    ) -> Result<(), String> {
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
        let says = |status, body: &str| reply.status == status && reply.text() == body;
        let holds = |body| reply.status == 200 && json_of(reply) == body;
        let sends = |url: &str| reply.status == 303 && reply.location() == Some(url);
        match *expected {
            Answer::ConfirmationPage => false,
            Answer::Started => {
                let mut answer = json_of(reply);
                let url = answer["authorization_url"].take();
                let begin = format!("{}/login/", self.broker());
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
            Answer::FromProvider => reply
                .location()
                .is_some_and(|url| url.starts_with(&format!("{}/callback/", self.broker()))),
            Answer::ToCallback => match step {
                Step::Visit { login, .. } => self.ends_a_fragment(login, reply),
                _ => sends(&fixture::back()),
            },
            Answer::CallbackWithCode => {
                self.legacy_answer(step, reply).is_some_and(|it| it.is_ok())
            }
            Answer::CallbackWithError(failure) => {
                self.legacy_answer(step, reply) == Some(Err(failure.name().to_owned()))
            }
            Answer::NotThisBrowser
            | Answer::UpstreamLoginOver
            | Answer::NotKnown
            | Answer::AnotherBrowser => is_page(step, expected, reply),
            Answer::Token => {
                let mut answer = json_of(reply);
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

    fn broker(&self) -> String {
        self.fixture.backend(Project::A).broker().to_owned()
    }

    /// A visit may have come with a fragment, which ends on the way to the callback of
    /// its login's own project.
    fn ends_a_fragment(&self, login: u8, reply: &Response) -> bool {
        let project = self.timed.model.logins[&login].project;
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &self.fixture.backend(project).client_id)
            .append_pair("redirect_uri", &fixture::back())
            .finish();
        let way = format!("{}/return?{query}#", self.broker());
        reply.status == 303 && reply.location() == Some(&way)
    }

    fn is_way_to_provider(&self, step: Step, reply: &Response) -> bool {
        let (Step::Visit { upstream_login, .. } | Step::Authorize { upstream_login, .. }) = step
        else {
            return false;
        };
        let provider = self
            .fixture
            .upstream(self.timed.model.upstream_logins[&upstream_login].provider);
        let begins = |url: &str| url.starts_with(provider.url()) && url.ends_with('#');
        reply.status == 303 && reply.location().is_some_and(begins)
    }

    /// The code or the error with which a legacy upstream login comes home.
    fn legacy_answer(&self, step: Step, reply: &Response) -> Option<Result<String, String>> {
        let Step::Deliver { upstream_login, .. } = step else {
            return None;
        };
        let url = reply.location().filter(|url| url.contains('?'))?;
        let backend = self.fixture.backend(Project::A);
        Some(callback_answer(
            backend,
            self.transaction(upstream_login),
            url,
        ))
    }

    /// The profile of the user of `upstream_login`.
    fn profile(&self, upstream_login: u8) -> Value {
        let person = self.person(upstream_login);
        let provider = self.timed.model.upstream_logins[&upstream_login].provider;
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
    match reply.location() {
        Some(url) => format!("{} to {url}", reply.status),
        None => format!("{} {}", reply.status, reply.text()),
    }
}

/// The body as JSON; nothing at all, if it is something else.
fn json_of(reply: &Response) -> Value {
    serde_json::from_str(reply.text()).unwrap_or_default()
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
        json_of(reply) == json!({ "error": "request_failed", "message": message })
    } else {
        reply.text().contains(&format!("<h1>{title}</h1>"))
    };
    reply.status == status && reply.location().is_none() && is_right
}

//! Answers that are none of the specification's: of the broker, or of a proxy before it.

use std::time::Duration;

use contract::{Provider, Subject};
use serde_json::{Value, json};
use url::{Position, Url};

use super::corpora::{CORPORA, Part, WrongAnswer, fill};
use super::demands::{SignedInLook, page_in_words, parameter};
use super::failures::{Login, answer, calls_of, was_met_by_another};
use crate::app::Flow;
use crate::browser::{Arrival, Visit};
use crate::calls::operation::{PROFILE, RESULT, SESSION, TOKEN};
use crate::random;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Cases, Outcome, Stop, require};

/// The attempts at one answer: an app that reads results in the background may take the
/// fault with the call of another login.
const ATTEMPTS: usize = 3;

/// The time without a call after which such an app is tried again.
const QUIET: Duration = Duration::from_secs(1);

/// `answer-checked`: each call of a login, answered wrongly in many ways.
pub(super) async fn answer_checked(trial: &Trial<'_>) -> Outcome {
    try_answers(trial, |wrong| !wrong.is_shown).await
}

/// `answer-shown-checked`: the same with what an app only shows.
pub(super) async fn answer_shown_checked(trial: &Trial<'_>) -> Outcome {
    try_answers(trial, |wrong| wrong.is_shown).await
}

async fn try_answers(trial: &Trial<'_>, is_chosen: fn(&WrongAnswer) -> bool) -> Outcome {
    let looks = SignedInLook::learn(trial).await?;
    let mut cases = Cases::default();
    for operation in calls_of(trial.flow) {
        let wrong = CORPORA.wrong_answer.iter().filter(|it| is_chosen(it));
        let wrong = wrong.filter(|it| it.pointer_in(operation).is_some());
        let wrong: Vec<_> = wrong.map(Some).collect();
        // The hand-made answer itself is right: what is refused after it is its change.
        let right = wrong.first().map(|_| None);
        for answer in right.into_iter().chain(wrong) {
            let outcome = try_answer(trial, &looks, operation, answer).await;
            if !cases.go_on(&trial.transcript, outcome) {
                return cases.end();
            }
        }
    }
    cases.end()
}

/// A login in which `operation` is answered by hand: rightly, or with one thing wrong.
async fn try_answer(
    trial: &Trial<'_>,
    looks: &SignedInLook,
    operation: &'static str,
    wrong: Option<&WrongAnswer>,
) -> Outcome {
    for _ in 0..ATTEMPTS {
        let mut login = login_without_provider(trial, operation).await?;
        let right = right_answer(&login.user, operation).await?;
        let mark = trial.mark().await?;
        arm_answer(&login.user, operation, &right, wrong).await?;
        let outcome = try_once(looks, &mut login, operation, wrong, mark).await;
        if !was_met_by_another(trial, operation, mark).await? {
            return outcome;
        }
        trial.testbed.calls_when_idle(mark, QUIET).await?;
    }
    Err(Stop::not_testable(format!(
        "the app calls {operation} for other logins in the background, and these calls take the answers that are tried"
    )))
}

/// Lets the next call of `operation` have this answer, and the other call of the login a right
/// one: the broker knows no made-up code or token.
async fn arm_answer(
    user: &User<'_>,
    operation: &'static str,
    right: &Value,
    wrong: Option<&WrongAnswer>,
) -> Outcome {
    match operation {
        TOKEN => arm(user.trial, PROFILE, &profile_of(user)).await?,
        PROFILE => arm(user.trial, TOKEN, &token_answer()).await?,
        _ => {}
    }
    match wrong {
        Some(wrong) => {
            let more = wrong.apply(operation, right);
            user.trial.arm_with(operation, "answer", &more).await
        }
        None => arm(user.trial, operation, right).await,
    }
}

/// Makes the app do the call, and compares what it does with the answer.
async fn try_once(
    looks: &SignedInLook,
    login: &mut Login<'_>,
    operation: &'static str,
    wrong: Option<&WrongAnswer>,
    mark: u64,
) -> Outcome {
    let arrival = login.meet_fault(operation, mark).await?;
    match wrong {
        None => require_accepted(&mut login.user, operation, &arrival).await,
        Some(wrong) => {
            let cause = format!("answered {operation} with {}", wrong.name);
            require_refused(looks, &mut login.user, &arrival, &cause).await
        }
    }
}

/// A login up to the request that makes the app do `operation`. Every answer comes by hand,
/// so the user signs in nowhere.
async fn login_without_provider<'t>(trial: &'t Trial<'_>, operation: &str) -> Outcome<Login<'t>> {
    let mut user = trial.user("browser A", "Ada");
    let next = if operation == SESSION {
        trial.last_press(&mut user.browser).await?
    } else {
        let begun = user.begin().await?;
        let mut callback = trial.callback()?;
        if trial.flow == Flow::Legacy {
            let state = parameter(&begun.url, "state")?;
            let pairs = [("code", random::secret()), ("state", state)];
            callback.query_pairs_mut().extend_pairs(pairs);
        }
        let callback = Visit::typed(&callback);
        if trial.app.has_strict_cookie {
            callback
        } else {
            callback.by_page_of(&begun.url)
        }
    };
    Ok(Login { user, next })
}

async fn arm(trial: &Trial<'_>, operation: &str, body: &Value) -> Outcome {
    let json = json!({ "Content-Type": "application/json" });
    let more = answer(200, &json, &body.to_string());
    trial.arm_with(operation, "answer", &more).await
}

/// Answers the next call with the right profile of this user, after a change.
pub(super) async fn arm_right(
    user: &User<'_>,
    operation: &str,
    change: impl FnOnce(&mut Value),
) -> Outcome {
    let mut right = right_answer(user, operation).await?;
    match right.pointer_mut("/profile") {
        Some(profile) => change(profile),
        None => change(&mut right),
    }
    arm(user.trial, operation, &right).await
}

async fn right_answer(user: &User<'_>, operation: &str) -> Outcome<Value> {
    Ok(match operation {
        SESSION => {
            let mut other = user.trial.browser("browser B");
            session_answer(user.trial.begin(&mut other).await?.url.as_str())
        }
        TOKEN => token_answer(),
        PROFILE => profile_of(user),
        _ => json!({ "status": "succeeded", "profile": profile_of(user) }),
    })
}

fn session_answer(authorization_url: &str) -> Value {
    json!({ "authorization_url": authorization_url, "expires_in": 600 })
}

fn token_answer() -> Value {
    json!({
        "access_token": format!("fsi_{}", random::secret()),
        "token_type": "Bearer",
        "expires_in": 900,
        "scope": "profile",
    })
}

/// The profile that the broker makes of a user.
fn profile_of(user: &User<'_>) -> Value {
    let provider = user.trial.way().map_or("google", |way| way.provider);
    let person: &Person = &user.person;
    let (by, username) = match provider {
        "github" => (Provider::GitHub, person.username.as_deref()),
        _ => (Provider::Google, None),
    };
    json!({
        "subject": Subject::of(by, &person.id),
        "provider": provider,
        "providerSubject": person.id,
        "name": person.name,
        "username": username,
        "email": person.email,
        "emailVerified": person.is_email_verified,
        "avatarUrl": person.picture,
    })
}

impl WrongAnswer {
    /// The place of the wrong part in the answer of `operation`; `None` if that lacks it.
    fn pointer_in(&self, operation: &str) -> Option<&'static str> {
        match (self.part, operation) {
            (Part::Any, _)
            | (Part::Session, SESSION)
            | (Part::Token, TOKEN)
            | (Part::Profile, PROFILE)
            | (Part::Result, RESULT) => Some(""),
            (Part::Profile, RESULT) => Some("/profile"),
            _ => None,
        }
    }

    /// The members of the fault, for a right body.
    fn apply(&self, operation: &str, right: &Value) -> Value {
        let headers = match self.content_type.as_deref() {
            Some("") => json!({}),
            None => json!({ "Content-Type": "application/json" }),
            Some(content_type) => json!({ "Content-Type": content_type }),
        };
        let body = self.body(operation, right);
        answer(self.status.unwrap_or(200), &headers, &body)
    }

    fn body(&self, operation: &str, right: &Value) -> String {
        if let Some(body) = &self.body {
            return body.replace('$', &right.to_string());
        }
        let mut changed = right.clone();
        let pointer = self.pointer_in(operation).unwrap_or_default();
        if let Some(Value::Object(members)) = changed.pointer_mut(pointer) {
            for (name, json) in &self.set {
                let right = members.get(name).map_or(String::new(), Value::to_string);
                let value = serde_json::from_str(&json.replace('$', &right));
                members.insert(name.clone(), value.expect("corpora.toml has JSON"));
            }
            members.retain(|name, _| Some(name) != self.remove.as_ref());
        }
        let mut text = changed.to_string();
        if self.is_cut {
            text.truncate(text.len() / 2);
        }
        text
    }
}

async fn require_accepted(user: &mut User<'_>, operation: &str, arrival: &Arrival) -> Outcome {
    let is_accepted = match arrival {
        Arrival::Stopped(_) => operation == SESSION,
        Arrival::Page(_) => operation != SESSION && user.is_signed_in().await?,
    };
    if is_accepted {
        return Ok(());
    }
    Err(Stop::not_testable(format!(
        "the app refuses a right answer of {operation}"
    )))
}

async fn require_refused(
    looks: &SignedInLook,
    user: &mut User<'_>,
    arrival: &Arrival,
    cause: &str,
) -> Outcome {
    let Arrival::Page(page) = arrival else {
        return Err(Stop::fail(format!(
            "{cause}, the app sends the browser on all the same"
        )));
    };
    let is_in = user.is_signed_in().await? || looks.is_shown_to(user).await?;
    require(!is_in, || format!("{cause}, the app signs the user in"))?;
    page_in_words(user.trial, page, cause)
}

/// `authorization-url-checked`: addresses that are not below the broker's origin.
pub(super) async fn authorization_url_checked(trial: &Trial<'_>) -> Outcome {
    let mut other = trial.browser("browser B");
    let right = trial.begin(&mut other).await?.url;
    let mut cases = Cases::default();
    for (name, address) in &CORPORA.wrong_addresses {
        let outcome = try_address(trial, name, &wrong_address(address, &right)).await;
        if !cases.go_on(&trial.transcript, outcome) {
            break;
        }
    }
    cases.end()
}

/// A login whose start is answered with this address.
async fn try_address(trial: &Trial<'_>, name: &str, url: &str) -> Outcome {
    let mut login = login_without_provider(trial, SESSION).await?;
    let mark = trial.mark().await?;
    arm(trial, SESSION, &session_answer(url)).await?;
    let arrival = login.meet_fault(SESSION, mark).await?;
    let cause = format!("given an authorization_url with {name}");
    let Arrival::Page(page) = &arrival else {
        return Err(Stop::fail(format!(
            "{cause}, the app sends the browser there"
        )));
    };
    let redirects = page.status < 400 && page.headers.contains_key("location");
    require(!redirects, || {
        format!("{cause}, the app redirects the browser there")
    })?;
    let leads = page.controls().iter().any(|it| it.target().as_str() == url);
    require(!leads, || {
        format!("{cause}, the app shows a link that leads there")
    })?;
    require(!page.json_texts().iter().any(|it| it == url), || {
        format!("{cause}, the app gives its script the address to go to")
    })?;
    page_in_words(trial, page, &cause)
}

fn wrong_address(row: &str, right: &Url) -> String {
    let scheme = right.scheme();
    let other = if scheme == "https" { "http" } else { "https" };
    let host = right.host_str().unwrap_or_default();
    let authority = &right[Position::BeforeHost..Position::AfterPort];
    let values = [
        ("scheme", scheme),
        ("other_scheme", other),
        ("host", host),
        ("authority", authority),
        ("path", right.path()),
        ("right", right.as_str()),
    ];
    fill(row, &values)
}

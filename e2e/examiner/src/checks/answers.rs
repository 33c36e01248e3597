//! Answers that are none of the specification's: of the broker, or of a proxy before it.

use std::time::Duration;

use contract::{Provider, Subject};
use serde_json::{Value, json};
use url::Url;

use super::corpora::{CORPORA, Part, WrongAnswer, fill};
use super::demands::{SignedInLook, page_in_words};
use super::failures::{answer, calls_of, not_called};
use crate::browser::{Arrival, Visit};
use crate::calls::operation::{PROFILE, RESULT, SESSION, TOKEN};
use crate::random;
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, each, require};

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
    let cases = calls_of(trial.flow).into_iter().flat_map(|operation| {
        let wrong = CORPORA.wrong_answer.iter().filter(|it| is_chosen(it));
        let wrong = wrong.filter(|it| it.pointer_in(operation).is_some());
        // The hand-made answer itself is right: what is refused after it is its change.
        let answers = [None].into_iter().chain(wrong.map(Some));
        answers.map(|wrong| try_answer(trial, &looks, operation, wrong))
    });
    each(&trial.transcript, cases.collect()).await
}

/// A login in which `operation` is answered by hand: rightly, or with one thing wrong.
async fn try_answer(
    trial: &Trial<'_>,
    looks: &SignedInLook,
    operation: &str,
    wrong: Option<&WrongAnswer>,
) -> Outcome {
    let ada = trial.user("browser A", "Ada");
    let by_hand = |right: Value| match wrong {
        Some(wrong) => wrong.apply(operation, right),
        None => json_answer(200, &right),
    };
    let (mut user, arrival) = answered(&ada, operation, by_hand).await?;
    let is_in = looks.is_shown_to(&mut user).await?;
    let Some(wrong) = wrong else {
        let is_accepted = is_in || matches!(arrival, Arrival::Stopped(_));
        let refused = format!("the app refuses a right answer of {operation}");
        return is_accepted.then_some(()).ok_or(Stop::not_testable(refused));
    };
    let cause = format!("answered {operation} with {}", wrong.name);
    let Arrival::Page(page) = arrival else {
        return Err(Stop::fail(format!(
            "{cause}, the app sends the browser on all the same"
        )));
    };
    require(!is_in, || format!("{cause}, the app signs the user in"))?;
    page_in_words(trial, &page, &cause)
}

/// A login of `user` in which the app's call of `operation` is answered by hand: with the members
/// of the fault that `by_hand` makes of the right body. Where the answer starts a login, the
/// browser stops before it leaves the app.
pub(super) async fn answered<'t>(
    user: &User<'t>,
    operation: &str,
    by_hand: impl Fn(Value) -> Value,
) -> Outcome<(User<'t>, Arrival)> {
    let trial = user.trial;
    for _ in 0..ATTEMPTS {
        let mut user = user.clone();
        let next = match operation {
            SESSION => user.last_press().await?,
            // The result comes by hand, so the user signs in nowhere.
            RESULT => {
                user.begin().await?;
                Visit::typed(&trial.callback()?)
            }
            _ => user.up_to_callback().await?,
        };
        let members = by_hand(right_answer(&user, operation).await?);
        let mark = trial.mark().await?;
        if operation == TOKEN {
            // The broker knows no made-up token.
            let profile = json_answer(200, &profile_of(&user));
            trial.arm_with(PROFILE, "answer", &profile).await?;
        }
        trial.arm_with(operation, "answer", &members).await?;
        let leaves = |url: &Url| operation == SESSION && !trial.testbed.is_app(url);
        let arrival = user.browser.visit_until(next, leaves).await;
        trial.testbed.control.disarm().await?;
        let mut calls = trial.testbed.calls(mark).await?;
        calls.retain(|call| call.operation == operation);
        let met = calls.iter().find(|call| call.fault.is_some());
        let mut spared = calls.iter().filter(|call| call.fault.is_none());
        if !met.is_some_and(|met| spared.any(|it| it.login != met.login)) {
            let arrival = arrival?;
            met.ok_or_else(|| not_called(operation))?;
            return Ok((user, arrival));
        }
        trial.testbed.calls_when_idle(mark, QUIET).await?;
    }
    Err(Stop::not_testable(format!(
        "the app calls {operation} for other logins in the background, and these calls take the answers that are tried"
    )))
}

/// The members of the fault that answers with this status and body.
pub(super) fn json_answer(status: u16, body: &Value) -> Value {
    let json = json!({ "Content-Type": "application/json" });
    answer(status, &json, &body.to_string())
}

async fn right_answer(user: &User<'_>, operation: &str) -> Outcome<Value> {
    let trial = user.trial;
    Ok(match operation {
        SESSION => {
            let begun = trial.user("browser B", "Ben").begin().await?;
            json!({ "authorization_url": begun.url.as_str(), "expires_in": 600 })
        }
        TOKEN => json!({
            "access_token": format!("fsi_{}", random::secret()),
            "token_type": "Bearer",
            "expires_in": 900,
            "scope": "profile",
        }),
        PROFILE => profile_of(user),
        _ => json!({ "status": "succeeded", "profile": profile_of(user) }),
    })
}

/// The profile that the broker makes of a user.
fn profile_of(user: &User<'_>) -> Value {
    let provider = user.trial.way().map_or("google", |way| way.provider);
    let person = &user.person;
    let (by, username) = match provider {
        "github" => (Provider::GitHub, person.username.as_deref()),
        _ => (Provider::Google, None),
    };
    json!({
        "subject": person.subject.clone().unwrap_or_else(|| Subject::of(by, &person.id).to_string()),
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

    /// The members of the fault, made of the right body.
    fn apply(&self, operation: &str, mut right: Value) -> Value {
        let pointer = self.pointer_in(operation).unwrap_or_default();
        if let Some(Value::Object(members)) = right.pointer_mut(pointer) {
            for (name, json) in &self.set {
                let right = members.get(name).map_or(String::new(), Value::to_string);
                let value = serde_json::from_str(&json.replace('$', &right));
                members.insert(name.clone(), value.expect("corpora.toml has JSON"));
            }
            members.retain(|name, _| Some(name) != self.remove.as_ref());
        }
        let right = right.to_string();
        let body = match &self.body {
            Some(body) => &body.replace('$', &right),
            None if self.is_cut => &right[..right.len() / 2],
            None => &right,
        };
        let headers = match self.content_type.as_deref() {
            Some("") => json!({}),
            other => json!({ "Content-Type": other.unwrap_or("application/json") }),
        };
        answer(self.status.unwrap_or(200), &headers, body)
    }
}

/// `authorization-url-checked`: addresses that are not below the broker's origin.
pub(super) async fn authorization_url_checked(trial: &Trial<'_>) -> Outcome {
    let begun = trial.user("browser B", "Ben").begin().await?;
    let cases = CORPORA.wrong_addresses.iter().map(|(name, address)| {
        let address = wrong_address(address, &begun.url);
        try_address(trial, name, address)
    });
    each(&trial.transcript, cases.collect()).await
}

/// A login whose start is answered with this address.
async fn try_address(trial: &Trial<'_>, name: &str, url: String) -> Outcome {
    let ada = trial.user("browser A", "Ada");
    let by_hand = |mut right: Value| {
        right["authorization_url"] = json!(url);
        json_answer(200, &right)
    };
    let cause = format!("given an authorization_url with {name}");
    let (_, Arrival::Page(page)) = answered(&ada, SESSION, by_hand).await? else {
        return Err(Stop::fail(format!(
            "{cause}, the app sends the browser there"
        )));
    };
    let redirects = page.status < 400 && page.headers.contains_key("location");
    let leads = page.controls().iter().any(|it| it.target().as_str() == url);
    let tells_script = page.json_texts().contains(&url);
    for (does, what) in [
        (redirects, "redirects the browser there"),
        (leads, "shows a link that leads there"),
        (tells_script, "gives its script the address to go to"),
    ] {
        require(!does, || format!("{cause}, the app {what}"))?;
    }
    page_in_words(trial, &page, &cause)
}

fn wrong_address(row: &str, right: &Url) -> String {
    let scheme = right.scheme();
    let other = if scheme == "https" { "http" } else { "https" };
    let values = [
        ("scheme", scheme),
        ("other_scheme", other),
        ("host", right.host_str().unwrap_or_default()),
        ("authority", right.authority()),
        ("path", right.path()),
        ("right", right.as_str()),
    ];
    fill(row, &values)
}

//! The callback: it signs in only the browser that began, and only once; and requests of it
//! that are no plain visit: by HEAD, by a prefetch, with parameters, bodies and headers that no
//! flow sends.

use futures_util::future::try_join_all;
use reqwest::Method;

use super::corpora::{CORPORA, Pair, fill};
use super::demands::{no_call, no_server_error};
use crate::app::SignInWay;
use crate::browser::{Visit, encode};
use crate::calls;
use crate::random;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, no_takeover, require};

/// `binding-required`: the callback of a login that another browser began.
pub(super) async fn binding_required(trial: &Trial<'_>) -> Outcome {
    let mut victim = trial.user("the victim's browser", "Vera");
    let mut foreign = trial.user_as("the attacker's browser", victim.person.clone());
    let callback = victim.up_to_callback().await?;

    let mark = trial.mark().await?;
    let page = foreign.visit(Visit::typed(&callback.url)).await?;
    let calls = trial.calls(mark).await?;
    no_takeover(foreign.is_signed_in().await?, || {
        format!(
            "a browser without any cookie asked for {} and is signed in as the user who had signed in elsewhere",
            callback.url.path()
        )
    })?;
    let what = "the callback in a browser without a session";
    no_call(
        &calls,
        calls::is_fetch,
        &format!("{what} made the app call"),
    )?;
    no_server_error(&page, &format!("{what} answers with"))?;
    // The login itself is unharmed.
    victim.visit(callback).await?;
    require(
        victim.is_signed_in().await?,
        || "after the callback in another browser, the user's own sign-in fails",
    )
}

/// The time after which a login is over.
const LATER_SECONDS: u64 = 601;

/// `callback-replay`: at once, after sign-out, and when its time is over; in the user's
/// browser and in another.
pub(super) async fn callback_replay(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    let callback = ada.up_to_callback().await?;
    ada.visit(callback.clone()).await?;
    ada.require_signed_in().await?;

    let mark = trial.mark().await?;
    let replay = Visit::typed(&callback.url);
    let mut thief = trial.user_as("browser B", ada.person.clone());
    for visitor in [&mut ada, &mut thief] {
        let page = visitor.visit(replay.clone()).await?;
        no_server_error(&page, "the callback, asked for again, answers with")?;
    }
    require(
        !thief.is_signed_in().await?,
        || "the callback, asked for again in another browser, signs it in",
    )?;
    if trial.app.sign_out.is_some() {
        ada.sign_out().await?;
        ada.visit(replay.clone()).await?;
        require(
            !ada.is_signed_in().await?,
            || "the callback, asked for again after sign-out, signs in",
        )?;
    }
    trial.advance(LATER_SECONDS).await?;
    thief.visit(replay).await?;
    require(!thief.is_signed_in().await?, || {
        format!(
            "the callback, asked for again in another browser after {LATER_SECONDS} s, signs it in"
        )
    })?;
    let calls = trial.calls(mark).await?;
    let operation = trial.flow.one_time_call();
    let what = "the callback, asked for again, made the app repeat its call:";
    no_call(&calls, |call| call.operation == operation, what)
}

/// `callback-head`: a HEAD or a prefetch, and then the visit.
pub(super) async fn callback_head(trial: &Trial<'_>) -> Outcome {
    let ways = [
        ("a HEAD", Method::HEAD, ""),
        ("a prefetch", Method::GET, "prefetch"),
        (
            "a prefetch with prerendering",
            Method::GET,
            "prefetch;prerender",
        ),
    ];
    for (way, method, purpose) in ways {
        let mut ada = trial.user("browser A", "Ada");
        let callback = ada.up_to_callback().await?;
        let mark = trial.mark().await?;
        let changed = callback.clone().with_method(method);
        let changed = changed.with_header("sec-purpose", purpose);
        ada.browser.send(&changed).await?;
        let calls = trial.calls(mark).await?;
        require(calls.is_empty(), || {
            let made: Vec<_> = calls.iter().map(calls::describe).collect();
            let made = made.join("; ");
            format!("{way} of the callback made the app call {made}")
        })?;
        ada.visit(callback).await?;
        require(ada.is_signed_in().await?, || {
            format!("after {way} of the callback, the user's visit does not sign in")
        })?;
    }
    Ok(())
}

/// `callback-parameters-ignored`: without a login, and at the end of one.
pub(super) async fn callback_parameters_ignored(trial: &Trial<'_>) -> Outcome {
    let mut victim = trial.user("the victim's browser", "Vera");
    victim.sign_in().await?;
    let is_ignored =
        |name: &str| !(is_shared(&trial.app.ways) && ["code", "state", "error"].contains(&name));
    let values = values_of(&victim.person);
    let mut attempts = Vec::new();
    for group in &CORPORA.parameters {
        let pairs = group.pairs.iter().filter(|(name, _)| is_ignored(name));
        let fields: Vec<_> = pairs
            .map(|(name, value)| (name.clone(), fill(value, &values)))
            .collect();
        attempts.extend(PLACES.map(|(place, words)| Attempt {
            victim: &victim.person,
            what: format!("{} {words}", group.name),
            place,
            fields: fields.clone(),
        }));
    }
    for attempt in &attempts {
        attempt.without_login(trial).await?;
    }
    let ends = attempts.iter().map(|it| it.at_the_end(trial));
    try_join_all(ends).await.map(drop)
}

/// Whether both flows end at one address: there, the legacy parameters mean something.
fn is_shared(ways: &[SignInWay]) -> bool {
    let mut pairs = ways.iter().flat_map(|a| ways.iter().map(move |b| (a, b)));
    pairs.any(|(a, b)| a.flow != b.flow && a.callback == b.callback)
}

/// The values that the rows of the parameters stand for.
fn values_of(victim: &Person) -> [(&'static str, String); 7] {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    [
        ("id", victim.id.clone()),
        ("email", text(&victim.email)),
        ("name", text(&victim.name)),
        ("username", text(&victim.username)),
        ("key", random::secret()),
        ("code", random::secret()),
        ("state", random::secret()),
    ]
}

/// The place of the parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterPlace {
    Query,
    /// The body of a GET.
    Body,
    Form,
    Headers,
}

/// Every place, in words.
const PLACES: [(ParameterPlace, &str); 4] = [
    (ParameterPlace::Query, "in the query"),
    (ParameterPlace::Body, "in a body"),
    (ParameterPlace::Form, "in a form"),
    (ParameterPlace::Headers, "in headers"),
];

/// An attempt to be the victim by parameters of the callback.
struct Attempt<'v> {
    victim: &'v Person,
    /// The parameters and their place, in words.
    what: String,
    place: ParameterPlace,
    fields: Vec<Pair>,
}

impl Attempt<'_> {
    fn apply(&self, mut visit: Visit) -> Visit {
        match self.place {
            ParameterPlace::Query => visit.url.set_query(Some(&encode(&self.fields))),
            ParameterPlace::Body => visit.fields = Some(self.fields.clone()),
            ParameterPlace::Form => {
                visit.method = Method::POST;
                visit.fields = Some(self.fields.clone());
            }
            ParameterPlace::Headers => {
                for (name, header) in &CORPORA.parameter_headers {
                    if let Some((_, value)) = self.fields.iter().find(|(its, _)| its == name) {
                        visit = visit.with_header(header, value);
                    }
                }
            }
        }
        visit
    }

    async fn without_login(&self, trial: &Trial<'_>) -> Outcome {
        let mut attacker = trial.user("the attacker's browser", "Mallory");
        attacker.open(&trial.testbed.start).await?;
        let mark = trial.mark().await?;
        let visit = self.apply(Visit::typed(&trial.callback()?));
        attacker.visit(visit).await?;
        self.not_the_victim(&mut attacker).await?;
        let calls = trial.testbed.calls(mark).await?;
        require(!calls.iter().any(calls::is_fetch), || {
            let what = &self.what;
            format!("the callback with {what} makes the app ask the broker, without a login")
        })
    }

    async fn at_the_end(&self, trial: &Trial<'_>) -> Outcome {
        let mut ada = trial.user("browser A", "Ada");
        let callback = ada.up_to_callback().await?;
        let mut changed = ada.clone();
        changed.visit(self.apply(callback.clone())).await?;
        self.not_the_victim(&mut changed).await?;
        let mut ends_well = changed.is_signed_in().await?;
        if !ends_well && matches!(self.place, ParameterPlace::Body | ParameterPlace::Form) {
            // No browser sends such a request; an app may refuse it, but not end the login.
            // The cookies are those of before: without its Lax cookie the request looks like
            // a first visit, to which many frameworks give a new session.
            ada.visit(callback).await?;
            self.not_the_victim(&mut ada).await?;
            ends_well = ada.is_signed_in().await?;
        }
        require(ends_well, || {
            let what = &self.what;
            format!("a login whose callback has {what} does not end well")
        })
    }

    async fn not_the_victim(&self, user: &mut User<'_>) -> Outcome {
        no_takeover(user.sees(self.victim).await?, || {
            let what = &self.what;
            format!("the callback with {what} shows that user's account")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Flow;

    #[test]
    fn two_flows_share_a_callback_if_they_have_one_path() {
        let way = |flow, callback: &str| SignInWay {
            flow,
            provider: "google",
            steps: Vec::new(),
            callback: callback.to_owned(),
        };
        let clean = way(Flow::Clean, "/callback");
        assert!(!is_shared(&[clean.clone(), clean.clone()]));
        assert!(!is_shared(&[clean.clone(), way(Flow::Legacy, "/old")]));
        assert!(is_shared(&[clean, way(Flow::Legacy, "/callback")]));
    }
}

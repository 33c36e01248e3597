//! The callback: it signs in only the browser that began, and only once; and requests of it
//! that are no plain visit: too early, by HEAD, by a prefetch, with parameters, bodies and
//! headers that no flow sends.

use futures_util::future::try_join_all;
use reqwest::Method;

use super::corpora::{CORPORA, Pair, fill};
use super::demands::{
    no_call, no_one_time_call, no_server_error, parameter, signed_in, signed_out, worth_nothing,
};
use super::profiles::harm_of;
use crate::app::SignInWay;
use crate::browser::{Page, Visit, encode};
use crate::calls;
use crate::random;
use crate::trial::{IDLE, Trial};
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, no_takeover};

/// `binding-required`: the callback of a login that another browser began.
pub(super) async fn binding_required(trial: &Trial<'_>) -> Outcome {
    let mut victim = trial.user("the victim's browser", "Vera");
    let mut foreign = trial.user_as("the attacker's browser", victim.person.clone());
    let callback = victim.up_to_callback().await?;

    let what = "the callback in a browser without a session";
    let ended = worth_nothing(&mut foreign, Visit::typed(&callback.url), what, IDLE).await;
    no_takeover(foreign.is_signed_in().await?, || {
        let path = callback.url.path();
        format!(
            "a browser without any cookie asked for {path} and is signed in as the user who had signed in elsewhere"
        )
    })?;
    no_server_error(&ended?, &format!("{what} answers with"))?;
    // The login itself is unharmed.
    victim.visit(callback).await?;
    let failed = "after the callback in another browser, the user's own sign-in fails";
    signed_in(&mut victim, failed).await
}

/// `login-not-cancelled`: requests of the callback while the user is at the provider.
pub(super) async fn login_not_cancelled(trial: &Trial<'_>) -> Outcome {
    let rows = CORPORA.early_callbacks.iter();
    let ends = rows.map(|(what, row)| early_callback(trial, what, row));
    try_join_all(ends).await.map(drop)
}

async fn early_callback(trial: &Trial<'_>, what: &str, row: &str) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    let visit = ada.begin().await?;
    let page = trial.to_provider(&mut ada.browser, visit).await?;
    let mut early = Visit::typed(&trial.callback()?);
    let query = fill(row, &[("other", random::secret())]);
    early
        .url
        .set_query(Some(&*query).filter(|it| !it.is_empty()));
    ada.visit(early).await?;
    let callback = ada.choose(&page).await?;
    ada.visit(callback).await?;
    let failed = format!(
        "while the user was at the provider, their browser asked for the callback {what}; the login that was under way does not sign in any more"
    );
    signed_in(&mut ada, &failed).await
}

/// `callback-hostile`: markup in what the callback's address carries, in the browser of a login
/// and in another.
pub(super) async fn callback_hostile(trial: &Trial<'_>) -> Outcome {
    for (what, row) in &CORPORA.hostile_queries {
        let mut ada = trial.user("browser A", "Ada");
        let mut callback = ada.up_to_callback().await?;
        let needle = random::letters();
        let markup = fill(&CORPORA.hostile_text, &[("needle", &needle)]);
        let state = parameter(&callback.url, "state").unwrap_or_default();
        let values = [("state", state), ("markup", percent_encoded(&markup))];
        callback.url.set_query(Some(&fill(row, &values)));
        let harm_on = |page: &Page| {
            let (harm, path) = (harm_of(page, &needle)?, page.url.path());
            Some(format!(
                "{what} in the callback's address {harm}, on {path}"
            ))
        };
        for mut user in [trial.user("browser B", "Ben"), ada] {
            let before = user.browser.seen.len();
            user.visit(callback.clone()).await?;
            if let Some(harm) = user.browser.seen[before..].iter().find_map(harm_on) {
                return Err(Stop::fail(harm));
            }
        }
    }
    Ok(())
}

fn percent_encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
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
    let what = "the callback, asked for again,";
    let elsewhere = format!("{what} in another browser, signs it in");
    signed_out(&mut thief, &elsewhere).await?;
    if trial.app.sign_out.is_some() {
        ada.sign_out().await?;
        ada.visit(replay.clone()).await?;
        signed_out(&mut ada, &format!("{what} after sign-out, signs in")).await?;
    }
    trial.advance(LATER_SECONDS).await?;
    thief.visit(replay).await?;
    signed_out(&mut thief, &format!("{elsewhere}, after {LATER_SECONDS} s")).await?;
    no_one_time_call(trial, &trial.calls(mark).await?, what)
}

/// `callback-head`: a HEAD or a prefetch, and then the visit.
pub(super) async fn callback_head(trial: &Trial<'_>) -> Outcome {
    for (way, method, purpose) in [
        ("a HEAD", Method::HEAD, ""),
        ("a prefetch", Method::GET, "prefetch"),
        ("a prerendering", Method::GET, "prefetch;prerender"),
    ] {
        let mut ada = trial.user("browser A", "Ada");
        let callback = ada.up_to_callback().await?;
        let mark = trial.mark().await?;
        let changed = callback.clone().with_method(method);
        let changed = changed.with_header("sec-purpose", purpose);
        ada.browser.send(&changed).await?;
        let calls = trial.calls(mark).await?;
        let what = format!("{way} of the callback made the app call");
        no_call(&calls, |_| true, &what)?;
        ada.visit(callback).await?;
        let failed = format!("after {way} of the callback, the user's visit does not sign in");
        signed_in(&mut ada, &failed).await?;
    }
    Ok(())
}

/// `callback-parameters-ignored`: without a login, and at the end of one.
pub(super) async fn callback_parameters_ignored(trial: &Trial<'_>) -> Outcome {
    let mut victim = trial.user("the victim's browser", "Vera");
    victim.sign_in().await?;
    let own = trial.way()?;
    // Where both flows end at one address, the legacy parameters mean something.
    let is_legacy = |it: &SignInWay| it.flow != own.flow && it.callback == own.callback;
    let is_shared = trial.app.ways.iter().any(is_legacy);
    let is_ignored = |name: &str| !is_shared || !["code", "state", "error"].contains(&name);
    let values = values_of(&victim.person);
    let mut attempts = Vec::new();
    for group in &CORPORA.parameters {
        let pairs = group.pairs.iter().filter(|(name, _)| is_ignored(name));
        let fields = pairs.map(|(name, value)| (name.clone(), fill(value, &values)));
        let fields: Vec<_> = fields.collect();
        attempts.extend(PLACES.map(|(place, is_usual, put)| Attempt {
            victim: &victim.person,
            what: format!("{} {place}", group.name),
            is_usual,
            put,
            fields: fields.clone(),
        }));
    }
    for attempt in &attempts {
        attempt.without_login(trial).await?;
    }
    let ends = attempts.iter().map(|it| it.at_the_end(trial));
    try_join_all(ends).await.map(drop)
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

/// Puts parameters into a request.
type Put = fn(Visit, &[Pair]) -> Visit;

/// Every place, in words, and whether a browser sends such a request.
const PLACES: [(&str, bool, Put); 4] = [
    ("in the query", true, |mut visit, fields| {
        visit.url.set_query(Some(&encode(fields)));
        visit
    }),
    ("in a body", false, |mut visit, fields| {
        visit.fields = Some(fields.to_vec());
        visit
    }),
    ("in a form", false, |mut visit, fields| {
        visit.fields = Some(fields.to_vec());
        visit.with_method(Method::POST)
    }),
    ("in headers", true, |visit, fields| {
        let names = CORPORA.parameter_headers.iter();
        names.fold(visit, |visit, (name, header)| {
            match fields.iter().find(|(its, _)| its == name) {
                Some((_, value)) => visit.with_header(header, value),
                None => visit,
            }
        })
    }),
];

/// An attempt to be the victim by parameters of the callback.
struct Attempt<'v> {
    victim: &'v Person,
    /// The parameters and their place, in words.
    what: String,
    is_usual: bool,
    put: Put,
    fields: Vec<Pair>,
}

impl Attempt<'_> {
    async fn without_login(&self, trial: &Trial<'_>) -> Outcome {
        let mut attacker = trial.user("the attacker's browser", "Mallory");
        attacker.open(&trial.testbed.start).await?;
        let mark = trial.mark().await?;
        let visit = Visit::typed(&trial.callback()?);
        attacker.visit((self.put)(visit, &self.fields)).await?;
        self.not_the_victim(&mut attacker).await?;
        let calls = trial.testbed.calls(mark).await?;
        let what = format!(
            "without a login, the callback with {} made the app call",
            self.what
        );
        no_call(&calls, calls::is_fetch, &what)
    }

    async fn at_the_end(&self, trial: &Trial<'_>) -> Outcome {
        let mut ada = trial.user("browser A", "Ada");
        let callback = ada.up_to_callback().await?;
        let mut changed = ada.clone();
        let visit = (self.put)(callback.clone(), &self.fields);
        changed.visit(visit).await?;
        self.not_the_victim(&mut changed).await?;
        if !changed.is_signed_in().await? && !self.is_usual {
            // No browser sends such a request; an app may refuse it, but not end the login.
            // The cookies are those of before: without its Lax cookie the request looks like
            // a first visit, to which many frameworks give a new session.
            changed = ada;
            changed.visit(callback).await?;
            self.not_the_victim(&mut changed).await?;
        }
        let failed = format!("a login whose callback has {} does not end well", self.what);
        signed_in(&mut changed, &failed).await
    }

    async fn not_the_victim(&self, user: &mut User<'_>) -> Outcome {
        let is_victim = user.sees(self.victim).await?;
        no_takeover(is_victim, || {
            format!("the callback with {} shows that user's account", self.what)
        })
    }
}

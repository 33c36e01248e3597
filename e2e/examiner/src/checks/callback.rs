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
use crate::browser::{Visit, encode};
use crate::calls;
use crate::random;
use crate::trial::{IDLE, Trial};
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, no_takeover};

/// `binding-required`: the callback of a login that another browser began.
pub(super) async fn binding_required(trial: &Trial<'_>) -> Outcome {
    let victim = trial.user_at_callback("the victim's browser", "Vera");
    let (mut victim, callback) = victim.await?;
    let mut foreign = trial.user_as("the attacker's browser", victim.person.clone());

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

/// The callback with another query: a row of `corpora.toml`, with values for its words.
pub(super) fn with_query<V: AsRef<str>>(
    mut callback: Visit,
    row: &str,
    values: &[(&str, V)],
) -> Visit {
    let query = Some(fill(row, values)).filter(|it| !it.is_empty());
    callback.url.set_query(query.as_deref());
    callback
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
    let early = Visit::typed(&trial.callback()?);
    let early = with_query(early, row, &[("other", random::secret())]);
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
        let (ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
        let needle = random::letters();
        let markup = fill(&CORPORA.hostile_text, &[("needle", &needle)]);
        let markup = url::form_urlencoded::byte_serialize(markup.as_bytes()).collect();
        let state = parameter(&callback.url, "state").unwrap_or_default();
        let callback = with_query(callback, row, &[("state", state), ("markup", markup)]);
        for mut user in [trial.user("browser B", "Ben"), ada] {
            user.visit(callback.clone()).await?;
            let mut seen = user.browser.seen.iter();
            let harm = seen.find_map(|page| Some((harm_of(page, &needle)?, page.url.path())));
            if let Some((harm, path)) = harm {
                return Err(Stop::fail(format!(
                    "{what} in the callback's address {harm}, on {path}"
                )));
            }
        }
    }
    Ok(())
}

/// The time after which a login is over.
const LATER_SECONDS: u64 = 601;

/// `callback-replay`: at once, after sign-out, and when its time is over; in the user's
/// browser and in another.
pub(super) async fn callback_replay(trial: &Trial<'_>) -> Outcome {
    let (mut ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
    let replay = Visit::typed(&callback.url);
    ada.visit(callback).await?;
    ada.require_signed_in().await?;

    let mark = trial.mark().await?;
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
        let (mut ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
        let mark = trial.mark().await?;
        let changed = callback.clone().with_method(method);
        let changed = changed.with_header("sec-purpose", purpose);
        ada.browser.send(&changed).await?;
        let what = format!("{way} of the callback made the app call");
        no_call(&trial.calls(mark).await?, |_| true, &what)?;
        ada.visit(callback).await?;
        let failed = format!("after {way} of the callback, the user's visit does not sign in");
        signed_in(&mut ada, &failed).await?;
    }
    Ok(())
}

/// `callback-parameters-ignored`: without a login, and at the end of one.
pub(super) async fn callback_parameters_ignored(trial: &Trial<'_>) -> Outcome {
    let victim = trial.signed_in("the victim's browser", "Vera").await?;
    let own = trial.way()?;
    // Where both flows end at one address, the legacy parameters mean something.
    let is_legacy = |it: &SignInWay| it.flow != own.flow && it.callback == own.callback;
    let is_shared = trial.app.ways.iter().any(is_legacy);
    let is_ignored = |name: &str| !is_shared || !["code", "state", "error"].contains(&name);
    let mut values = victim.person.form_fields();
    values.extend(["key", "code", "state"].map(|name| (name, random::secret())));
    for group in &CORPORA.parameters {
        let pairs = group.pairs.iter().filter(|(name, _)| is_ignored(name));
        let fields = pairs.map(|(name, value)| (name.clone(), fill(value, &values)));
        let fields: Vec<_> = fields.collect();
        for (place, is_usual, put) in PLACES {
            let what = format!("{} {place}", group.name);
            let visit = put(Visit::typed(&trial.callback()?), &fields);
            without_login(trial, &victim.person, visit, &what).await?;
            let (ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
            let mut visits = vec![put(callback.clone(), &fields)];
            // No browser sends another request: an app may refuse it, but not end the login.
            visits.extend((!is_usual).then_some(callback));
            at_the_end(&ada, &victim.person, visits, &what).await?;
        }
    }
    Ok(())
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
    ("in headers", true, |mut visit, fields| {
        let of_field = |(name, value): &Pair| {
            let mut headers = CORPORA.parameter_headers.iter();
            let (_, header) = headers.find(|(its, _)| its == name)?;
            Some((header.as_str(), value.clone()))
        };
        visit.headers.extend(fields.iter().filter_map(of_field));
        visit
    }),
];

/// The callback with parameters, in a browser that began no login.
async fn without_login(trial: &Trial<'_>, victim: &Person, visit: Visit, what: &str) -> Outcome {
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    attacker.open(&trial.testbed.start).await?;
    let mark = trial.mark().await?;
    attacker.visit(visit).await?;
    not_the_victim(&mut attacker, victim, what).await?;
    let calls = trial.testbed.calls(mark).await?;
    let called = format!("without a login, the callback with {what} made the app call");
    no_call(&calls, calls::is_fetch, &called)
}

/// A login that one of these visits of the callback ends well.
async fn at_the_end(user: &User<'_>, victim: &Person, visits: Vec<Visit>, what: &str) -> Outcome {
    for visit in visits {
        // With the cookies of before: without its Lax cookie the request looks like a first
        // visit, to which many frameworks give a new session.
        let mut user = user.clone();
        user.visit(visit).await?;
        not_the_victim(&mut user, victim, what).await?;
        if user.is_signed_in().await? {
            return Ok(());
        }
    }
    Err(Stop::fail(format!(
        "a login whose callback has {what} does not end well"
    )))
}

async fn not_the_victim(user: &mut User<'_>, victim: &Person, what: &str) -> Outcome {
    no_takeover(user.sees(victim).await?, || {
        format!("the callback with {what} shows that user's account")
    })
}

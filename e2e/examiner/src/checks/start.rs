//! The start of a login: by a form that the user sends, and by nothing else; with a session key
//! that is fresh.

use std::collections::HashSet;
use std::sync::LazyLock;

use reqwest::Method;
use url::Url;

use super::demands::no_call;
use crate::browser::{Arrival, Visit, encode};
use crate::calls::Call;
use crate::calls::operation::SESSION;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// A page of the attacker.
static ATTACKER: LazyLock<Url> =
    LazyLock::new(|| Url::parse("http://attacker.example/").expect("an address"));

/// The number of logins whose keys are compared.
const LOGINS: usize = 4;

/// `start-needs-action`: the request that starts a login, made in other ways.
pub(super) async fn start_needs_action(trial: &Trial<'_>) -> Outcome {
    trial.begin(&mut trial.browser("browser A")).await?;
    // The attacker copies the form from a page of their own visit.
    let mut attacker = trial.browser("the attacker's browser");
    let copied = trial.last_press(&mut attacker).await?;
    let mark = trial.mark().await?;
    for (way, is_copied, change) in WAYS {
        let mut browser = trial.browser("browser A");
        let own = trial.last_press(&mut browser).await?;
        let visit = change(if is_copied { copied.clone() } else { own });
        let path = visit.url.path().to_owned();
        let is_broker = |url: &Url| trial.testbed.is_broker(url);
        let arrival = browser.visit_until(visit, is_broker).await?;
        let what = format!("{way} asks for {path}, and a login starts");
        let has_left = matches!(arrival, Arrival::Stopped(_));
        require(!has_left, || {
            format!("{what}: the browser is sent to the broker")
        })?;
        let calls = trial.testbed.calls(mark).await?;
        no_call(&calls, is_start, &format!("{what} at the broker:"))?;
    }
    let later = "a request that no user made starts a login, a moment later:";
    no_call(&trial.calls(mark).await?, is_start, later)
}

/// Makes another request of the one that a press makes.
type Change = fn(Visit) -> Visit;

/// Each way in words, and whether it takes the attacker's copy, not the browser's own press.
const WAYS: [(&str, bool, Change); 7] = [
    ("a GET by the address bar", false, |own| {
        Visit::typed(&as_get(own).url)
    }),
    ("a link on another site", true, foreign_link),
    ("a HEAD", false, |own| as_get(own).with_method(Method::HEAD)),
    ("a prefetch", false, |own| {
        let visit = as_get(own).with_header("purpose", "prefetch");
        visit.with_header("sec-purpose", "prefetch")
    }),
    ("an image on another site", true, foreign_image),
    ("a form on another site", true, foreign_form),
    (
        "a form in a sandboxed frame of another site",
        true,
        foreign_form_in_sandbox,
    ),
];

/// The request, made by a link on a page of the attacker's.
pub(super) fn foreign_link(visit: Visit) -> Visit {
    as_get(visit).by_page_of(&ATTACKER)
}

/// The request, made by an image on a page of the attacker's.
pub(super) fn foreign_image(visit: Visit) -> Visit {
    let mut visit = foreign_link(visit);
    visit.destination = "image";
    visit
}

/// The request, made by a form on a page of the attacker's.
pub(super) fn foreign_form(visit: Visit) -> Visit {
    let mut visit = visit.with_method(Method::POST);
    visit.fields.get_or_insert_default();
    visit.by_page_of(&ATTACKER)
}

/// The request, made by a form in a frame that has no origin.
pub(super) fn foreign_form_in_sandbox(visit: Visit) -> Visit {
    foreign_form(visit).with_header("origin", "null")
}

/// The request as a GET, with the form's fields in the query.
fn as_get(visit: Visit) -> Visit {
    let mut visit = visit.with_method(Method::GET);
    if let Some(fields) = visit.fields.take().filter(|it| !it.is_empty()) {
        visit.url.set_query(Some(&encode(&fields)));
    }
    visit
}

fn is_start(call: &Call) -> bool {
    call.operation == SESSION
}

/// `key-fresh`: in several browsers, and twice in one.
pub(super) async fn key_fresh(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let mut ada = trial.user("browser A", "Ada");
    let mut begun = Ok(());
    for _ in 0..LOGINS / 2 {
        begun = begun.and(ada.begin().await.map(drop));
        let mut other = trial.browser("browser B");
        begun = begun.and(trial.begin(&mut other).await.map(drop));
    }
    let calls = trial.calls(mark).await?;
    let is_known = |call: &Call| call.rule.as_deref() == Some("session_key.fresh");
    let known = "the app sent a session key that the broker had seen before:";
    no_call(&calls, is_known, known)?;
    begun?;
    ada.sign_in().await?;
    let started = calls.iter().filter(|call| is_start(call));
    let logins: Vec<_> = started.filter_map(|call| call.login.as_deref()).collect();
    let number = logins.len();
    if number < LOGINS {
        return Err(Stop::not_testable(format!(
            "{LOGINS} sign-ins were begun, but the app started {number} logins at the broker"
        )));
    }
    let distinct = HashSet::<_>::from_iter(logins).len();
    require(distinct == number, || {
        format!("{number} logins were started with {distinct} session keys")
    })
}

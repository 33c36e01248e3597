//! The start of a login: by a form that the user sends, and by nothing else.

use reqwest::Method;

use crate::browser::{Arrival, Visit, encode};
use crate::calls::Call;
use crate::calls::operation::SESSION;
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// A page of the attacker.
pub(super) const ATTACKER: &str = "http://attacker.example/";

/// `start-needs-action`: the request that starts a login, made in other ways.
pub(super) async fn start_needs_action(trial: &Trial<'_>) -> Outcome {
    trial.begin(&mut trial.browser("browser A")).await?;
    // The attacker copies the form from a page of their own visit.
    let copied = trial
        .last_press(&mut trial.browser("the attacker's browser"))
        .await?;
    let mark = trial.mark().await?;
    for (way, change) in WAYS {
        let mut browser = trial.browser("browser A");
        let own = trial.last_press(&mut browser).await?;
        let visit = change(own, copied.clone());
        let path = visit.url.path().to_owned();
        let is_broker = |url: &url::Url| trial.testbed.is_broker(url);
        let arrival = browser.visit_until(visit, is_broker).await?;
        require(matches!(arrival, Arrival::Page(_)), || {
            format!("{way} asks for {path}, and a login starts: the browser is sent to the broker")
        })?;
        let calls = trial.testbed.calls(mark).await?;
        require(!calls.iter().any(is_start), || {
            format!("{way} asks for {path}, and a login starts at the broker")
        })?;
    }
    let calls = trial.calls(mark).await?;
    require(!calls.iter().any(is_start), || {
        "a request that no user made starts a login at the broker, a moment later".to_owned()
    })
}

/// Makes a request of the browser's own press, or of the attacker's copy of it.
type Change = fn(Visit, Visit) -> Visit;

const WAYS: [(&str, Change); 7] = [
    ("a GET by the address bar", |own, _| {
        Visit::typed(&as_get(own).url)
    }),
    ("a link on another site", |_, copied| {
        as_get(copied).by_page_of(ATTACKER)
    }),
    ("a HEAD", |own, _| as_get(own).with_method(Method::HEAD)),
    ("a prefetch", |own, _| {
        as_get(own)
            .with_header("purpose", "prefetch")
            .with_header("sec-purpose", "prefetch")
    }),
    ("an image on another site", |_, copied| Visit {
        destination: "image",
        ..as_get(copied).by_page_of(ATTACKER)
    }),
    ("a form on another site", |_, copied| {
        as_post(copied).by_page_of(ATTACKER)
    }),
    (
        "a form in a sandboxed frame of another site",
        |_, copied| {
            as_post(copied)
                .by_page_of(ATTACKER)
                .with_header("origin", "null")
        },
    ),
];

/// The request as a GET, with the form's fields in the query.
pub(super) fn as_get(visit: Visit) -> Visit {
    let mut visit = visit.with_method(Method::GET);
    if let Some(fields) = visit.fields.take().filter(|it| !it.is_empty()) {
        visit.url.set_query(Some(&encode(&fields)));
    }
    visit
}

/// The request as a form's POST.
pub(super) fn as_post(visit: Visit) -> Visit {
    let mut visit = visit.with_method(Method::POST);
    visit.fields.get_or_insert_default();
    visit
}

fn is_start(call: &Call) -> bool {
    call.operation == SESSION
}

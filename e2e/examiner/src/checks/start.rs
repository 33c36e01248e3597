//! The start of a login: by a form that the user sends on a page of the app, by nothing else, and
//! not by an attacker who sends the user into it; with a session key that is fresh.

use std::collections::HashSet;
use std::sync::LazyLock;

use reqwest::Method;
use url::Url;

use super::chromium::press_go;
use super::demands::{no_call, no_server_error};
use crate::app::Flow;
use crate::browser::{Arrival, Page, Visit, encode};
use crate::calls::Call;
use crate::calls::operation::{SESSION, TOKEN};
use crate::chromium::ARRIVAL_TIMEOUT;
use crate::chromium_user::{ChromiumUser, Led};
use crate::foreign_site::{ForeignSite, Lure};
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, no_takeover, require};

/// A page of the attacker.
static ATTACKER: LazyLock<Url> =
    LazyLock::new(|| Url::parse("http://attacker.example/").expect("an address"));

/// The number of logins whose keys are compared.
const LOGINS: usize = 4;

/// `start-needs-action`: the request that starts a login, made in other ways.
pub(super) async fn start_needs_action(trial: &Trial<'_>) -> Outcome {
    trial.user("browser A", "Ada").begin().await?;
    // The attacker copies the form from a page of their own visit.
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    let copied = attacker.last_press().await?;
    let mark = trial.mark().await?;
    for (way, is_copied, change) in WAYS {
        let mut ada = trial.user("browser A", "Ada");
        let own = ada.last_press().await?;
        let visit = change(if is_copied { copied.clone() } else { own });
        let path = visit.url.path().to_owned();
        let is_broker = |url: &Url| trial.testbed.is_broker(url);
        let what = format!("{way} asks for {path}, and a login starts");
        if let Arrival::Stopped(_) = ada.browser.visit_until(visit, is_broker).await? {
            let sent = format!("{what}: the browser is sent to the broker");
            return Err(Stop::fail(sent));
        }
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

/// The request, made by a form in a frame that has no origin and does not say where it is.
pub(super) fn foreign_form_in_sandbox(visit: Visit) -> Visit {
    let visit = foreign_form(visit).with_header("origin", "null");
    visit.with_header("referer", "")
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
        begun = begun.and(trial.user("browser B", "Ben").begin().await.map(drop));
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

/// `relay`: the attack, then a sign-in from the app's own page.
pub(super) async fn relay(trial: &Trial<'_>) -> Outcome {
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    let begun = attacker.begin().await?;
    let site = ForeignSite::start().await?;
    let mut victim = trial.chromium("the victim's Chromium", "Vera").await?;
    let link = site.page(Lure::Link(&begun.url)).await;
    press_go(&mut victim.tab, &link, ARRIVAL_TIMEOUT).await?;
    match trial.flow {
        Flow::Clean => stops_at_the_question(&mut victim, &mut attacker, &begun.url).await?,
        Flow::Legacy => is_refused_at_the_callback(&mut victim, &mut attacker).await?,
    }
    drop(victim);
    from_own_page(trial).await
}

/// In the clean flow the broker asks, and without the click nothing happens.
async fn stops_at_the_question(
    victim: &mut ChromiumUser<'_>,
    attacker: &mut User<'_>,
    begun: &Url,
) -> Outcome {
    require_question(victim, "a link on another site").await?;
    victim.tab.open(begun).await?;
    require_question(victim, "a typed address").await?;
    let callback = Visit::typed(&attacker.trial.callback()?);
    let page = attacker.visit(callback).await?;
    let what = "the callback of a login that is not finished answers with";
    no_server_error(&page, what)
}

async fn require_question(victim: &mut ChromiumUser<'_>, opened: &str) -> Outcome {
    let led = victim.where_led().await?;
    require(led == Led::ToQuestion, || {
        format!(
            "the broker lets a user who opened {opened} into the attacker's login without a question"
        )
    })
}

/// In the legacy flow the victim's browser has no transaction for the attacker's state.
async fn is_refused_at_the_callback(
    victim: &mut ChromiumUser<'_>,
    attacker: &mut User<'_>,
) -> Outcome {
    match victim.where_led().await? {
        Led::ToProvider => {}
        Led::ToQuestion => victim.go_on().await?,
        Led::Nowhere => {
            return Err(Stop::not_testable(
                "the victim's Chromium does not reach the provider",
            ));
        }
    }
    let mark = victim.trial.mark().await?;
    victim.leave_provider().await?;
    let calls = victim.trial.calls(mark).await?;
    no_takeover(
        attacker.sees(&victim.person).await?,
        || "the attacker began a login, the victim finished it, and the attacker's browser is signed in as the victim",
    )?;
    let signs_in = "the attacker's state signs the victim's browser in, which began no login";
    require(!victim.is_signed_in().await?, || signs_in)?;
    let what = "the attacker's state in the victim's browser made the app send the code:";
    no_call(&calls, |call| call.operation == TOKEN, what)
}

/// A sign-in from the app's own page meets no question.
async fn from_own_page(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.chromium("Chromium", "Ada").await?;
    let mark = trial.mark().await?;
    let led = ada.begin().await?;
    if led == Led::ToProvider {
        ada.choose().await?;
        return ada.require_signed_in().await;
    }
    let mut browser = trial.browser("browser A");
    let page = browser.open(&trial.testbed.start).await?;
    if led == Led::ToQuestion {
        let visits = trial.testbed.calls(mark).await?;
        let provenance = visits.iter().find_map(|call| call.provenance.as_deref());
        let reason = reason(&page, provenance.unwrap_or_default());
        return Err(Stop::fail(format!(
            "a plain sign-in from the app's page meets the broker's question, because {reason}"
        )));
    }
    let policy = page.header("content-security-policy");
    require(
        !policy.contains("form-action"),
        || "no user can sign in with Chromium: the form-action of the app's Content-Security-Policy blocks the redirect to the broker",
    )?;
    Err(ada.is_nowhere().await?)
}

/// The reason for which the broker does not see where a login on this page began.
fn reason(page: &Page, provenance: &str) -> String {
    let policy = page.referrer_policy();
    let reason = match provenance {
        "no_referrer" if !policy.is_empty() => {
            return format!(
                "its Referrer-Policy is {policy}, so that the browser does not say where the login began"
            );
        }
        "no_referrer" => "the browser sends no Referer: a script or a redirect hides the page",
        "foreign" => "it starts on a page of another origin than its callback's",
        "typed" => "no page of the app starts it: the browser was sent there by itself",
        "embedded" => "the app shows the broker's page in a frame",
        _ => "the broker does not see where the login began",
    };
    reason.to_owned()
}

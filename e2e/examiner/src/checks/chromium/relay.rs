//! The relay: an attacker begins a login and sends the victim into it.

use url::Url;

use super::cross_site::press_go;
use crate::app::Flow;
use crate::browser::{Browser, Visit};
use crate::calls::Call;
use crate::calls::operation::TOKEN;
use crate::chromium::{ARRIVAL_TIMEOUT, ForeignSite, Led, Tab};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require, require_no_server_error};

/// `relay`: the attack, then a sign-in from the app's own page.
pub(in super::super) async fn relay(trial: &Trial<'_>) -> Outcome {
    let mut attacker = trial.browser("the attacker's browser");
    let begun = trial.begin(&mut attacker).await?;
    let site = ForeignSite::start().await?;
    let mut tab = trial.chromium("the victim's Chromium").await?;
    press_go(&mut tab, &site.with_link(&begun.url), ARRIVAL_TIMEOUT).await?;
    match trial.flow {
        Flow::Clean => stops_at_the_question(trial, &mut tab, &mut attacker, &begun.url).await?,
        Flow::Legacy => is_refused_at_the_callback(trial, &mut tab, &mut attacker).await?,
    }
    drop(tab);
    from_own_page(trial).await
}

/// In the clean flow the broker asks, and without the click nothing happens.
async fn stops_at_the_question(
    trial: &Trial<'_>,
    tab: &mut Tab,
    attacker: &mut Browser,
    begun: &Url,
) -> Outcome {
    for opened in ["a link on another site", "a typed address"] {
        if opened != "a link on another site" {
            tab.open(begun).await?;
        }
        let led = tab.where_led(trial.testbed).await?;
        require(led == Led::ToQuestion, || {
            format!(
                "the broker lets a user who opened {opened} into the attacker's login without a question"
            )
        })?;
    }
    let page = attacker.visit(Visit::typed(&trial.callback()?)).await?;
    require_no_server_error(page.status, || {
        format!(
            "the callback of a login that is not finished answers with status {}",
            page.status
        )
    })
}

/// In the legacy flow the victim's browser has no transaction for the attacker's state.
async fn is_refused_at_the_callback(
    trial: &Trial<'_>,
    tab: &mut Tab,
    attacker: &mut Browser,
) -> Outcome {
    let victim = Person::new("Vera");
    match tab.where_led(trial.testbed).await? {
        Led::ToProvider => {}
        Led::ToQuestion => tab.go_on(trial.testbed).await?,
        Led::Nowhere => {
            return Err(Stop::not_testable(
                "the victim's Chromium does not reach the provider",
            ));
        }
    }
    let mark = trial.mark().await?;
    tab.choose(trial.testbed, &victim).await?;
    let calls = trial.calls(mark).await?;
    if trial.is_signed_in(attacker, &victim).await? {
        return Err(Stop::takeover(
            "the attacker began a login, the victim finished it, and the attacker's browser is signed in as the victim",
        ));
    }
    let is_in = trial.is_signed_in_in(tab, &victim).await?;
    require(!is_in, || {
        "the attacker's state signs the victim's browser in, which began no login".to_owned()
    })?;
    let sent = calls.iter().find(|call| call.operation == TOKEN);
    require(sent.is_none(), || {
        let sent = sent.map_or_else(String::new, Call::describe);
        format!("the attacker's state in the victim's browser made the app send the code: {sent}")
    })
}

/// A sign-in from the app's own page meets no question.
async fn from_own_page(trial: &Trial<'_>) -> Outcome {
    let person = Person::new("Ada");
    let mut tab = trial.chromium("Chromium").await?;
    let mark = trial.mark().await?;
    match tab.begin(trial.testbed, trial.way()?).await? {
        Led::ToProvider => {}
        Led::ToQuestion => {
            let visits = trial.testbed.calls(mark).await?;
            let provenance = visits.iter().find_map(|call| call.provenance.as_deref());
            return Err(Stop::fail(format!(
                "a plain sign-in from the app's page meets the broker's question, because {}",
                reason(trial, provenance.unwrap_or_default()).await
            )));
        }
        Led::Nowhere => return Err(blocked(trial, &tab).await?),
    }
    trial.choose_in(&mut tab, &person).await?;
    trial.require_signed_in_in(&mut tab, &person).await
}

/// The reason for which the broker does not see where a login began.
async fn reason(trial: &Trial<'_>, provenance: &str) -> String {
    match provenance {
        "no_referrer" => {
            let mut browser = trial.browser("browser A");
            let page = browser.open(&trial.testbed.start).await;
            let policy = page.map(|it| it.referrer_policy()).unwrap_or_default();
            if policy.is_empty() {
                "the browser sends no Referer: a script or a redirect hides the page".to_owned()
            } else {
                format!(
                    "its Referrer-Policy is {policy}, so that the browser does not say where the login began"
                )
            }
        }
        "foreign" => "it starts on a page of another origin than its callback's".to_owned(),
        "typed" => "no page of the app starts it: the browser was sent there by itself".to_owned(),
        "embedded" => "the app shows the broker's page in a frame".to_owned(),
        _ => "the broker does not see where the login began".to_owned(),
    }
}

/// A press that reaches neither the broker nor the provider.
async fn blocked(trial: &Trial<'_>, tab: &Tab) -> Outcome<Stop> {
    let mut browser = trial.browser("browser A");
    let page = browser.open(&trial.testbed.start).await?;
    let policy = page.header("content-security-policy");
    if policy.contains("form-action") {
        return Ok(Stop::fail(
            "no user can sign in with Chromium: the form-action of the app's Content-Security-Policy blocks the redirect to the broker",
        ));
    }
    Ok(Stop::not_testable(format!(
        "in Chromium the sign-in button leads to {} and not to the broker",
        tab.address().await?.path()
    )))
}

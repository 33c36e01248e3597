//! The relay: an attacker begins a login and sends the victim into it.

use url::Url;

use super::chromium::press_go;
use super::demands::{no_call, no_server_error};
use crate::app::Flow;
use crate::browser::{Page, Visit};
use crate::calls::operation::TOKEN;
use crate::chromium::ARRIVAL_TIMEOUT;
use crate::chromium_user::{ChromiumUser, Led};
use crate::foreign_site::ForeignSite;
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, no_takeover, require};

/// `relay`: the attack, then a sign-in from the app's own page.
pub(super) async fn relay(trial: &Trial<'_>) -> Outcome {
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    let begun = attacker.begin().await?;
    let site = ForeignSite::start().await?;
    let mut victim = trial.chromium("the victim's Chromium", "Vera").await?;
    let link = site.with_link(&begun.url);
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
    require(
        !victim.is_signed_in().await?,
        || "the attacker's state signs the victim's browser in, which began no login",
    )?;
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
    let page = trial
        .browser("browser A")
        .open(&trial.testbed.start)
        .await?;
    if led == Led::ToQuestion {
        let visits = trial.testbed.calls(mark).await?;
        let provenance = visits.iter().find_map(|call| call.provenance.as_deref());
        let reason = reason(&page, provenance.unwrap_or_default());
        return Err(Stop::fail(format!(
            "a plain sign-in from the app's page meets the broker's question, because {reason}"
        )));
    }
    require(
        !page
            .header("content-security-policy")
            .contains("form-action"),
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

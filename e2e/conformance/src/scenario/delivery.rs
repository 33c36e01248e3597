//! The delivery of a provider's answer: in another browser, by HEAD, twice, late; and
//! the cookies that protect it. The specification is silent about the browser: all of
//! this is this kit's choice.

use agent::backend::LegacyLogin;
use agent::browser::{Arrival, Browser};
use reqwest::Method;
use reqwest::header::SET_COOKIE;

use super::clean::{self, Login};
use super::legacy;
use super::sign_in::{self, UndeliveredCallback};
use crate::expect::{self, ensure};
use crate::http::{Http, is_http_loopback, masked_response};
use crate::mask;
use crate::project::QueuedUser;
use crate::requirement::{LOGIN_LIFETIME_SECONDS, Requirement as R};
use crate::run::Run;
use crate::verdict::{Evidence, Stop};

/// Delivers the answer in another browser, then in its own.
pub(super) async fn elsewhere(run: &mut Run<'_>) -> Result<(), Stop> {
    let (login, callback) = start_clean(run).await?;
    check_cookies(run, &callback.browser);
    let end = callback.deliver_elsewhere(run).await?;
    let evidence = evidence("in another browser", &callback, &end);
    check_unfinished(run, R::UpstreamLoginOwnBrowser, evidence, &login, callback).await
}

/// Sends HEAD to the upstream callback, then GET; and HEAD to another login's
/// authorization URL, then GET in another browser.
pub(super) async fn by_head(run: &mut Run<'_>) -> Result<(), Stop> {
    let (login, mut callback) = start_clean(run).await?;
    let end = callback.head().await?;
    let evidence = evidence("by HEAD", &callback, &end);
    check_unfinished(run, R::BrowserHead, evidence, &login, callback).await?;
    open_after_head(run).await
}

/// Checks that a delivery did not finish the login, and that one in its own browser does.
async fn check_unfinished(
    run: &mut Run<'_>,
    requirement: R,
    mut evidence: Evidence,
    login: &Login,
    mut callback: UndeliveredCallback,
) -> Result<(), Stop> {
    let exchange = clean::read(run, &login.key).await?;
    evidence.received += &format!(", then the result {}", exchange.evidence.received);
    let is_unfinished = clean::is_unfinished(&exchange);
    let unfinished = ensure(is_unfinished, "this kit's login is not finished by that");
    run.check_by(requirement, evidence, unfinished);
    if is_unfinished {
        callback.deliver(run).await?;
        check_succeeded(run, requirement, login).await?;
    }
    Ok(())
}

async fn open_after_head(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = clean::start(run, run.providers[0]).await?;
    let url = &login.authorization_url;
    let head = run.plan.navigation(url).visit()?.with_method(Method::HEAD);
    let page = Browser::new(run.http.clone()).send(&head).await?;
    let evidence = Evidence {
        sent: format!("HEAD {}, then a browser", mask::url(url)),
        received: masked_response(&page),
    };
    // The login before this one came as far, without HEAD.
    let opened = match clean::up_to_callback(run, &login).await {
        Ok(_) => Ok(()),
        Err(Stop::Blocked(_)) => {
            Err("this kit's login is opened by a browser after HEAD".to_owned())
        }
        Err(stop) => return Err(stop),
    };
    run.check_by(R::BrowserHead, evidence, opened);
    Ok(())
}

/// Delivers the answer twice, in either flow.
pub(super) async fn twice(run: &mut Run<'_>) -> Result<(), Stop> {
    let (login, mut callback) = start_clean(run).await?;
    callback.deliver(run).await?;
    callback.deliver(run).await?;
    check_succeeded(run, R::UpstreamLoginOnce, &login).await?;

    let (_, mut callback) = start_legacy(run).await?;
    callback.deliver(run).await?;
    let again = callback.deliver(run).await?;
    let evidence = evidence("a second time", &callback, &again);
    let expected = "this kit brings no second code";
    check_brings_no_code(run, R::UpstreamLoginOnce, evidence, &again, expected);
    Ok(())
}

/// Delivers an answer that has waited.
pub(super) async fn late(run: &mut Run<'_>, mut callback: UndeliveredCallback) -> Result<(), Stop> {
    let end = callback.deliver(run).await?;
    let how = format!("after {LOGIN_LIFETIME_SECONDS} seconds");
    let evidence = evidence(&how, &callback, &end);
    let expected = format!("this kit brings no code {how}");
    check_brings_no_code(run, R::UpstreamLoginExpiry, evidence, &end, &expected);
    Ok(())
}

async fn start_clean(run: &mut Run<'_>) -> Result<(Login, UndeliveredCallback), Stop> {
    let login = clean::start(run, run.providers[0]).await?;
    let callback = clean::up_to_callback(run, &login).await?;
    Ok((login, callback))
}

/// Starts a legacy login, up to the upstream callback.
pub(super) async fn start_legacy(
    run: &mut Run<'_>,
) -> Result<(LegacyLogin, UndeliveredCallback), Stop> {
    let provider = run.providers[0];
    let (login, path) = legacy::begin(run, provider);
    let url = format!("{}{path}", run.plan.base_url);
    let user = QueuedUser::default_at(provider);
    let callback = sign_in::up_to_callback(run, &url, provider, user).await?;
    Ok((login, callback))
}

async fn check_succeeded(run: &mut Run<'_>, requirement: R, login: &Login) -> Result<(), Stop> {
    let exchange = clean::read(run, &login.key).await?;
    if !exchange.is_success() {
        // An earlier read may have consumed the session, which is another requirement.
        return Ok(());
    }
    let succeeded = ensure(
        clean::is_succeeded(&exchange).is_ok(),
        "this kit's result is that of the one delivery in its own browser",
    );
    run.check(requirement, &exchange, succeeded);
    Ok(())
}

/// Checks that no code came to the consumer.
fn check_brings_no_code(
    run: &mut Run<'_>,
    requirement: R,
    evidence: Evidence,
    end: &Arrival,
    expected: &str,
) {
    let code = code_at(end);
    if let Some(code) = &code {
        run.mask.add("code", code);
    }
    run.check_by(requirement, evidence, ensure(code.is_none(), expected));
}

/// The code that a delivery brought to the consumer.
pub(super) fn code_at(end: &Arrival) -> Option<String> {
    match end {
        Arrival::Page(_) => None,
        Arrival::Stopped(visit) => agent::url::parameter(visit.url.as_str(), "code"),
    }
}

fn evidence(how: &str, callback: &UndeliveredCallback, end: &Arrival) -> Evidence {
    Evidence {
        sent: format!("the provider's answer {how}, to {}", callback.masked_url()),
        received: sign_in::masked(end),
    }
}

/// Checks the cookies that the broker set on the way to the provider.
fn check_cookies(run: &mut Run<'_>, browser: &Browser<Http>) {
    let base_url = &run.plan.base_url;
    let is_off_loopback = !is_http_loopback(base_url);
    let pages = browser.seen.iter();
    let pages = pages.filter(|page| agent::url::is_same_origin(page.url.as_str(), base_url));
    let cookies = pages.flat_map(|page| page.headers.get_all(SET_COOKIE));
    let mut cookies = cookies.filter_map(|it| it.to_str().ok()).peekable();
    if cookies.peek().is_none() {
        run.skip(&[R::CookieAttributes], "the broker set no cookie");
    }
    for cookie in cookies {
        let (_, attributes) = cookie.split_once(';').unwrap_or_default();
        let evidence = Evidence {
            sent: "a browser, to the provider".to_owned(),
            received: format!("a cookie with{attributes}"),
        };
        let check = expect::cookie(cookie, is_off_loopback);
        run.check_by(R::CookieAttributes, evidence, check);
    }
}

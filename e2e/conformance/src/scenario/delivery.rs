//! The delivery of a provider's answer: in another browser, by HEAD, twice, late; and
//! the cookies that protect it. The specification is silent about the browser: all of
//! this is this kit's choice.

use reqwest::Method;
use url::Url;

use super::sign_in::{self, UndeliveredCallback};
use super::{authorize, result, session};
use crate::address;
use crate::browser::{End, HttpBrowser};
use crate::error::Stop;
use crate::expect::{self, Check, ensure};
use crate::http::Exchange;
use crate::mask;
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::users::QueuedUser;
use crate::verdict::Evidence;

pub(super) const ELSEWHERE_COVERS: &[R] = &[R::UpstreamLoginOwnBrowser, R::CookieAttributes];

/// Delivers the answer in another browser, then in its own.
pub(super) async fn elsewhere(run: &mut Run<'_>) -> Result<(), Stop> {
    let (login, mut callback) = start_clean(run).await?;
    check_cookies(run, &callback.browser);
    let end = callback.deliver_elsewhere(run).await?;
    let exchange = result::read(run, &login.key).await?;
    let evidence = evidence("in another browser", &callback, &end, Some(&exchange));
    let is_unfinished = result::is_unfinished(&exchange);
    let unfinished = ensure(is_unfinished, "this kit's login is not finished by that");
    run.check_by(R::UpstreamLoginOwnBrowser, evidence, unfinished);
    if is_unfinished {
        callback.deliver(run).await?;
        check_succeeded(run, R::UpstreamLoginOwnBrowser, &login).await?;
    }
    Ok(())
}

/// Sends HEAD to the upstream callback, then GET; and HEAD to another login's
/// authorization URL, then GET in another browser.
pub(super) async fn by_head(run: &mut Run<'_>) -> Result<(), Stop> {
    let (login, mut callback) = start_clean(run).await?;
    let end = callback.head(run).await?;
    let exchange = result::read(run, &login.key).await?;
    let evidence = evidence("by HEAD", &callback, &end, Some(&exchange));
    let is_unfinished = result::is_unfinished(&exchange);
    let unfinished = ensure(is_unfinished, "this kit's login is not finished by that");
    run.check_by(R::BrowserHead, evidence, unfinished);
    if is_unfinished {
        callback.deliver(run).await?;
        check_succeeded(run, R::BrowserHead, &login).await?;
    }
    open_after_head(run).await
}

async fn open_after_head(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = session::start(run, run.providers[0]).await?;
    let url = &login.authorization_url;
    let mut other = HttpBrowser::default();
    let response = other.open(&mut run.http, Method::HEAD, url).await?;
    let evidence = Evidence {
        sent: format!("HEAD {}, then a browser", mask::url(url)),
        received: response.masked(),
    };
    let user = QueuedUser::default_at(login.provider);
    // The login before this one came as far, without HEAD.
    let opened = match sign_in::up_to_callback(run, url, login.provider, user).await {
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

    let mut callback = start_legacy(run).await?;
    callback.deliver(run).await?;
    let again = callback.deliver(run).await?;
    let evidence = evidence("a second time", &callback, &again, None);
    let none = no_code(run, &again, "this kit brings no second code");
    run.check_by(R::UpstreamLoginOnce, evidence, none);
    Ok(())
}

/// Delivers an answer that has waited.
pub(super) async fn late(run: &mut Run<'_>, mut callback: UndeliveredCallback) -> Result<(), Stop> {
    let end = callback.deliver(run).await?;
    let evidence = evidence("after 600 seconds", &callback, &end, None);
    let none = no_code(run, &end, "this kit brings no code after 600 seconds");
    run.check_by(R::UpstreamLoginExpiry, evidence, none);
    Ok(())
}

async fn start_clean(run: &mut Run<'_>) -> Result<(session::Login, UndeliveredCallback), Stop> {
    let login = session::start(run, run.providers[0]).await?;
    let user = QueuedUser::default_at(login.provider);
    let url = &login.authorization_url;
    let callback = sign_in::up_to_callback(run, url, login.provider, user).await?;
    Ok((login, callback))
}

/// Starts a legacy login, up to the upstream callback.
pub(super) async fn start_legacy(run: &mut Run<'_>) -> Result<UndeliveredCallback, Stop> {
    let login = authorize::begin(run, run.providers[0]);
    let url = format!("{}{}", run.plan.base_url, login.path());
    let user = QueuedUser::default_at(login.provider);
    sign_in::up_to_callback(run, &url, login.provider, user).await
}

async fn check_succeeded(
    run: &mut Run<'_>,
    requirement: R,
    login: &session::Login,
) -> Result<(), Stop> {
    let exchange = result::read(run, &login.key).await?;
    if !exchange.response.is_success() {
        // An earlier read may have consumed the session, which is another requirement.
        return Ok(());
    }
    let succeeded = result::is_succeeded(&exchange, &exchange.response.json());
    let expected = "this kit's result is that of the one delivery in its own browser";
    let succeeded = succeeded.map_err(|_| expected.to_owned());
    run.check(requirement, &exchange, succeeded);
    Ok(())
}

/// No code comes to the consumer.
fn no_code(run: &mut Run<'_>, end: &End, expected: &str) -> Check {
    let url = Url::parse(&end.url).ok().filter(|_| end.response.is_none());
    let code = url.and_then(|url| {
        let mut pairs = url.query_pairs();
        pairs.find_map(|(name, value)| (name == "code").then(|| value.into_owned()))
    });
    if let Some(code) = &code {
        run.mask_secret("code", code);
    }
    ensure(code.is_none(), expected)
}

fn evidence(
    how: &str,
    callback: &UndeliveredCallback,
    end: &End,
    read: Option<&Exchange>,
) -> Evidence {
    let mut received = sign_in::masked(end);
    if let Some(exchange) = read {
        received = format!("{received}, then the result {}", exchange.response.masked());
    }
    Evidence {
        sent: format!(
            "the provider's answer {how}, to {}",
            mask::url(&callback.url)
        ),
        received,
    }
}

/// Checks the cookies that the broker set on the way to the provider.
fn check_cookies(run: &mut Run<'_>, browser: &HttpBrowser) {
    let base_url = &run.plan.base_url;
    let is_off_loopback = !address::is_http_loopback(base_url);
    let cookies: Vec<_> = browser.cookies_set_by(base_url).cloned().collect();
    if cookies.is_empty() {
        run.skip(&[R::CookieAttributes], "the broker set no cookie");
    }
    for cookie in cookies {
        let (_, attributes) = cookie.split_once(';').unwrap_or_default();
        let evidence = Evidence {
            sent: "a browser, to the provider".to_owned(),
            received: format!("a cookie with{attributes}"),
        };
        let check = expect::cookie(&cookie, is_off_loopback);
        run.check_by(R::CookieAttributes, evidence, check);
    }
}

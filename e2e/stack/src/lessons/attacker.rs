//! The attacker of the relay lesson. They start logins at the demo, keep the demo's cookies,
//! send the address to a victim, and come back for the result. Their client is no browser: it
//! follows no redirect.

use std::time::Duration;

use reqwest::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::{Certificate, Client, Method, Response, redirect, retry};

use crate::attacks::Attack;
use crate::control_error::ControlError;
use crate::facts::LoginFlow;
use crate::runtime::StackRuntime;

/// The time for one call. The demo itself waits for the broker.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Starts a login at the demo with Google.
pub(super) async fn start(runtime: &StackRuntime, flow: LoginFlow) -> Result<(), ControlError> {
    let after = runtime.event_log().last_seq();
    let mut cookies = Vec::new();
    let path = match flow {
        LoginFlow::Clean => "/login/google",
        LoginFlow::Legacy => "/legacy/login/google",
    };
    let link = send(runtime, Method::POST, path, &mut cookies).await?;
    let secrets = runtime.event_log().secrets();
    let found = link.and_then(|link| Some((secrets.login_at(&link)?, link)));
    let (login, link) = found.ok_or_else(|| {
        ControlError::unavailable(
            "the demo did not start a login; is a fault armed? Begin the lesson again",
        )
    })?;
    runtime.attacks.add(Attack {
        login: login.as_str().to_owned(),
        flow,
        link,
        after,
        at: runtime.clock.now_ms(),
        is_in: None,
        cookies,
    });
    Ok(())
}

/// Comes back to the demo's callback with the cookies of the attacker.
pub(super) async fn read(runtime: &StackRuntime, login: &str) -> Result<(), ControlError> {
    let gone = || {
        ControlError::not_found(
            "login: the attacker started no such login, or the stack was reset; start another",
        )
    };
    let mut attack = runtime.attacks.find(login).ok_or_else(gone)?;
    let path = match attack.flow {
        LoginFlow::Clean => "/callback",
        LoginFlow::Legacy => "/legacy/callback",
    };
    let target = send(runtime, Method::GET, path, &mut attack.cookies).await?;
    // The demo redirects a user who is signed in to their profile.
    attack.is_in = Some(target.as_deref() == Some("/profile"));
    match runtime.attacks.replace(attack) {
        true => Ok(()),
        false => Err(gone()),
    }
}

/// Sends a request to the demo, and returns the address that it redirects to.
async fn send(
    runtime: &StackRuntime,
    method: Method,
    path: &str,
    cookies: &mut Vec<(String, String)>,
) -> Result<Option<String>, ControlError> {
    let demo = runtime.urls.consumer.as_ref().ok_or_else(|| {
        ControlError::not_found("this sandbox has no demo; the lessons of the stack have one")
    })?;
    let pairs = cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let request = client(runtime)?
        .request(method, format!("{demo}{path}"))
        .header(ORIGIN, demo)
        .header(COOKIE, pairs.collect::<Vec<_>>().join("; "));
    let answer = request.send().await;
    let answer = answer
        .map_err(|_| ControlError::unavailable("the demo does not answer; is it running?"))?;
    learn(cookies, &answer);
    let location = answer.headers().get(LOCATION);
    Ok(location.and_then(|it| it.to_str().ok().map(str::to_owned)))
}

fn client(runtime: &StackRuntime) -> Result<Client, ControlError> {
    let mut http = Client::builder()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .no_proxy()
        .timeout(TIMEOUT);
    if let Some(tls) = &runtime.reach.tls {
        let authority = Certificate::from_pem(tls.ca_pem().as_bytes());
        http = http.tls_certs_merge([authority.map_err(ControlError::internal)?]);
    }
    http.build().map_err(ControlError::internal)
}

fn learn(cookies: &mut Vec<(String, String)>, answer: &Response) {
    for line in answer.headers().get_all(SET_COOKIE) {
        let pair = line.to_str().unwrap_or_default().split(';').next();
        let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) else {
            continue;
        };
        cookies.retain(|(known, _)| known != name);
        cookies.push((name.to_owned(), value.to_owned()));
    }
}

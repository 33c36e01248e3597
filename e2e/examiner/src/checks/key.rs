//! The session key: fresh, and never where a browser can see it.

use std::collections::HashSet;

use crate::browser::Browser;
use crate::calls::Call;
use crate::calls::operation::SESSION;
use crate::person::Person;
use crate::search;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The number of logins whose keys are compared.
const LOGINS: usize = 4;

/// `key-fresh`: in several browsers, and twice in one.
pub(super) async fn key_fresh(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let mut one = trial.browser("browser A");
    let mut begun = Ok(());
    for _ in 0..LOGINS / 2 {
        begun = begun.and(trial.begin(&mut one).await.map(drop));
    }
    for _ in LOGINS / 2..LOGINS {
        let mut other = trial.browser("browser B");
        begun = begun.and(trial.begin(&mut other).await.map(drop));
    }
    let calls = trial.calls(mark).await?;
    let refused = calls
        .iter()
        .any(|call| call.rule.as_deref() == Some("session_key.fresh"));
    require(!refused, || {
        "the app sent a session key that the broker had seen before".to_owned()
    })?;
    begun?;
    trial.sign_in(&mut one, &Person::new("Ada")).await?;
    let started = calls.iter().filter(|call| call.operation == SESSION);
    let logins: Vec<_> = started.filter_map(|call| call.login.as_deref()).collect();
    if logins.len() < LOGINS {
        return Err(Stop::not_testable(format!(
            "{LOGINS} sign-ins were begun, but the app started {} logins at the broker",
            logins.len()
        )));
    }
    let distinct: HashSet<_> = logins.iter().collect();
    require(distinct.len() == logins.len(), || {
        format!(
            "{} logins were started with {} session keys",
            logins.len(),
            distinct.len()
        )
    })
}

/// `key-not-in-browser`: searched in everything that the browser saw of a whole login.
pub(super) async fn key_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let mut browser = trial.browser("browser A");
    trial.sign_in(&mut browser, &Person::new("Ada")).await?;
    let calls = trial.calls(mark).await?;
    let haystacks = search::haystacks_of(&browser, |_| true);
    match search::find_key(&haystacks, &logins_of(&calls)?) {
        None => Ok(()),
        Some(place) => require(false, || {
            format!("the session key of the login is in {place}")
        }),
    }
}

/// The logins whose keys are looked for; without one, nothing would be found.
pub(super) fn logins_of(calls: &[Call]) -> Outcome<HashSet<String>> {
    let logins: HashSet<_> = calls.iter().filter_map(|call| call.login.clone()).collect();
    if logins.is_empty() {
        return Err(Stop::not_testable(
            "the sign-in made no call whose login the broker knows",
        ));
    }
    Ok(logins)
}

/// The addresses of the app that a browser shows, for searches beyond a login.
pub(super) async fn open_everything(trial: &Trial<'_>, browser: &mut Browser) -> Outcome {
    let page = browser.open(&trial.testbed.start).await?;
    for url in page
        .resources()
        .into_iter()
        .filter(|url| trial.testbed.is_app(url))
    {
        browser.open(&url).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    #[test]
    fn a_search_for_the_keys_of_no_login_is_not_testable() {
        let stop = logins_of(&[]).unwrap_err();
        assert_eq!(stop.verdict, Verdict::NotTestable);
    }
}

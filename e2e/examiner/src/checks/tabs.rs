//! Several logins in one browser: in two tabs, and one after the other.

use crate::browser::{Browser, Page};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require, require_no_server_error};

/// `two-tabs`: two logins at once, finished in either order.
pub(super) async fn two_tabs(trial: &Trial<'_>) -> Outcome {
    for older_first in [true, false] {
        let (older, newer) = (Person::new("Ada"), Person::new("Eve"));
        let mut browser = trial.browser("browser A");
        let older_page = provider_page(trial, &mut browser).await?;
        let newer_page = provider_page(trial, &mut browser).await?;
        if older_first {
            finish_older(trial, &mut browser, &older_page, &older, None).await?;
            finish_newer(trial, &mut browser, &newer_page, &newer).await?;
        } else {
            finish_newer(trial, &mut browser, &newer_page, &newer).await?;
            finish_older(trial, &mut browser, &older_page, &older, Some(&newer)).await?;
        }
    }
    Ok(())
}

async fn provider_page(trial: &Trial<'_>, browser: &mut Browser) -> Outcome<Page> {
    let visit = trial.begin(browser).await?;
    trial.to_provider(browser, visit).await
}

/// The newer login ends well.
async fn finish_newer(
    trial: &Trial<'_>,
    browser: &mut Browser,
    page: &Page,
    person: &Person,
) -> Outcome {
    let page = finish(trial, browser, page, person, "newer").await?;
    let shown = trial.whoami(browser).await?;
    require(person.is_shown_in(&shown.body), || {
        format!(
            "of two logins in one browser the newer does not sign in: it ends at {} with status {}",
            page.url.path(),
            page.status
        )
    })
}

/// The older login ends well, or changes nothing.
async fn finish_older(
    trial: &Trial<'_>,
    browser: &mut Browser,
    page: &Page,
    person: &Person,
    before: Option<&Person>,
) -> Outcome {
    finish(trial, browser, page, person, "older").await?;
    let shown = trial.whoami(browser).await?;
    let is_replaced = || before.is_none_or(|before| before.is_shown_in(&shown.body));
    require(person.is_shown_in(&shown.body) || is_replaced(), || {
        "of two logins in one browser the older, which comes last, signs out the user of the newer"
            .to_owned()
    })
}

async fn finish(
    trial: &Trial<'_>,
    browser: &mut Browser,
    page: &Page,
    person: &Person,
    which: &str,
) -> Outcome<Page> {
    let callback = trial.choose(browser, page, person).await?;
    let page = browser.visit(callback).await?;
    require_no_server_error(page.status, || {
        format!(
            "of two logins in one browser the {which} ends with status {}",
            page.status
        )
    })?;
    require(trial.has_words(&page), || {
        format!("of two logins in one browser the {which} ends on a page without words")
    })?;
    Ok(page)
}

/// `relogin-replaces`: a second user signs in where a first one is signed in.
pub(super) async fn relogin_replaces(trial: &Trial<'_>) -> Outcome {
    let (first, second) = (Person::new("Ada"), Person::new("Eve"));
    let mut browser = trial.browser("browser A");
    // A tab that is still open: the start page may show no sign-in to the first user.
    let old_tab = browser.open(&trial.testbed.start).await?;
    trial.sign_in(&mut browser, &first).await?;
    let mut copy = browser.clone();
    "a copy of the first user's cookies".clone_into(&mut copy.transport.name);

    let visit = trial.begin_signed_in(&mut browser, Some(old_tab)).await?;
    let visit = visit.ok_or_else(|| {
        Stop::not_applicable("the app offers no sign-in to a user who is signed in")
    })?;
    let page = trial.to_provider(&mut browser, visit).await?;
    let callback = trial.choose(&mut browser, &page, &second).await?;
    let landing = browser.visit(callback).await?;
    let home = browser.open(&trial.testbed.start).await?;
    let whoami = trial.whoami(&mut browser).await?;
    for page in [&landing, &home, &whoami] {
        require(!first.is_shown_in(&page.body), || {
            let path = page.url.path();
            format!("after a second user has signed in, {path} shows the first one")
        })?;
    }
    require(second.is_shown_in(&whoami.body), || {
        "a second user who signs in after a first one is not signed in".to_owned()
    })?;

    let kept = trial.whoami(&mut copy).await?;
    for (person, whose) in [(&first, "first"), (&second, "second")] {
        require(!person.is_shown_in(&kept.body), || {
            format!(
                "after a second user has signed in, the first user's old cookie opens the {whose} user's session"
            )
        })?;
    }
    stay_apart(trial, &first, &second).await
}

/// The two accounts are not joined: neither user sees the other in a fresh browser.
async fn stay_apart(trial: &Trial<'_>, first: &Person, second: &Person) -> Outcome {
    for (own, foreign) in [(first, second), (second, first)] {
        let mut browser = trial.browser("browser B");
        trial.try_sign_in(&mut browser, own).await?;
        let page = trial.whoami(&mut browser).await?;
        if foreign.is_shown_in(&page.body) {
            return Err(Stop::takeover(
                "two users who signed in one after the other in one browser share an account from then on",
            ));
        }
    }
    Ok(())
}

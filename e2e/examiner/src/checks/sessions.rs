//! Sessions: several logins in one browser, also around a sign-out, a session that an attacker
//! knew before the login, and a restart of the app in the middle of both.

use futures_util::future::try_join_all;

use super::corpora::CORPORA;
use super::demands::{no_server_error, offers_restart, signed_in, signed_out};
use super::failures::{FAILURES, fail};
use crate::browser::{Cookie, Page, Visit};
use crate::random;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::{Outcome, Stop, no_takeover, require};

/// The number of the attacker's requests while the victim comes back.
const REQUESTS: usize = 4;

/// The number of sessions and of logins on either side of a restart. Ids that are
/// counted from one again meet within them.
const SESSIONS: usize = 4;

/// `two-tabs`: two logins at once, finished in either order.
pub(super) async fn two_tabs(trial: &Trial<'_>) -> Outcome {
    for older_first in [true, false] {
        let mut user = trial.user("browser A", "Ada");
        let mut tabs = Vec::new();
        for (which, first) in [("older", "Ada"), ("newer", "Eve")] {
            let begun = user.begin().await?;
            let page = trial.to_provider(&mut user.browser, begun).await?;
            tabs.push((which, page, Person::new(first)));
        }
        if !older_first {
            tabs.reverse();
        }
        let mut landings = Vec::new();
        for (which, page, person) in &tabs {
            user.person = person.clone();
            landings.push(finish(&mut user, page, which).await?);
        }
        if older_first {
            is_not_cancelled(trial, &landings[0]).await?;
        } else {
            let shown = user.whoami().await?.body;
            require(
                tabs.iter().any(|(_, _, it)| it.is_shown_in(&shown)),
                || "of two logins in one browser the older, which comes last, signs out the user of the newer",
            )?;
        }
    }
    Ok(())
}

/// The newer login ends well; the older one may as well, or changes nothing.
async fn finish(user: &mut User<'_>, page: &Page, which: &str) -> Outcome<Page> {
    let callback = user.choose(page).await?;
    let page = user.visit(callback).await?;
    let what = format!("of two logins in one browser the {which} ends");
    no_server_error(&page, &format!("{what} with"))?;
    let has_words = user.trial.has_words(&page);
    require(has_words, || format!("{what} on a page without words"))?;
    if which == "newer" {
        let (path, status) = (page.url.path(), page.status);
        let failed = format!(
            "of two logins in one browser the newer does not sign in: it ends at {path} with status {status}"
        );
        signed_in(user, &failed).await?;
    }
    Ok(page)
}

/// The page at the end of the older login does not say that the user cancelled. A page that
/// other failures have as well says no such thing, whatever its words.
async fn is_not_cancelled(trial: &Trial<'_>, page: &Page) -> Outcome {
    let text = page.text();
    let says_so = |word: &String| text.to_lowercase().contains(word);
    if !CORPORA.cancelled.iter().any(says_so) {
        return Ok(());
    }
    // Where the same words end a login that began elsewhere, they are for every failure.
    let of_another = trial.user("browser B", "Ben").up_to_callback().await?;
    let elsewhere = trial.browser("browser C").open(&of_another.url).await?;
    let mut is_same = vec![elsewhere.text() == text];
    for (misbehaviour, _) in FAILURES {
        let failed = fail(&mut trial.user("browser D", "Dan"), misbehaviour).await?;
        is_same.push(failed.text() == text);
    }
    // The first of the failures is the cancelled one.
    require(
        is_same != [false, true, false, false],
        || "of two logins in one browser the older ends on the page of a login that the user cancelled, and the user did not",
    )
}

/// `sign-out-ends-logins`: a login under way in the session that is signed out.
pub(super) async fn sign_out_ends_logins(trial: &Trial<'_>) -> Outcome {
    trial.sign_out_step()?;
    let start = &trial.testbed.start;
    let mut ada = trial.user("browser A", "Ada");
    let old_tab = ada.open(start).await?;
    ada.sign_in().await?;
    let before = ada.browser.jar.of(start);
    let begun = begin_again(&mut ada, old_tab).await?;
    let is_own = |cookie: &Cookie| {
        let is_sessions = trial.app.session_cookies.contains(&cookie.name);
        !is_sessions && !before.iter().any(|it| it.value == cookie.value)
    };
    if let Some(own) = ada.browser.jar.of(start).iter().find(|it| is_own(it)) {
        let name = &own.name;
        return Err(Stop::not_applicable(format!(
            "a login may live apart from the session that sign-out ends: its start sets the cookie {name}"
        )));
    }
    let callback = ada.come_back(begun).await?;
    ada.sign_out().await?;
    ada.visit(callback).await?;
    let failed = "a login that was under way in another tab when the user signed out still signs the browser in";
    signed_out(&mut ada, failed).await
}

/// Begins a login where a user is signed in.
async fn begin_again(user: &mut User<'_>, old_tab: Page) -> Outcome<Visit> {
    let begun = user.begin_again(Some(old_tab)).await?;
    begun
        .ok_or_else(|| Stop::not_applicable("the app offers no sign-in to a user who is signed in"))
}

/// `relogin-replaces`: a second user signs in where a first one is signed in.
pub(super) async fn relogin_replaces(trial: &Trial<'_>) -> Outcome {
    let mut user = trial.user("browser A", "Ada");
    // A tab that is still open: the start page may show no sign-in to the first user.
    let old_tab = user.open(&trial.testbed.start).await?;
    user.sign_in().await?;
    let mut copy = user.clone();
    "a copy of the first user's cookies".clone_into(&mut copy.browser.transport.name);
    let first = std::mem::replace(&mut user.person, Person::new("Eve"));

    let begun = begin_again(&mut user, old_tab).await?;
    let landing = user.finish(begun).await?;
    let home = user.open(&trial.testbed.start).await?;
    let whoami = user.whoami().await?;
    for page in [&landing, &home, &whoami] {
        let (is_first, path) = (first.is_shown_in(&page.body), page.url.path());
        let what = "after a second user has signed in";
        require(!is_first, || format!("{what}, {path} shows the first one"))?;
    }
    let failed = "a second user who signs in after a first one is not signed in";
    let second = user.person;
    require(second.is_shown_in(&whoami.body), || failed)?;

    let kept = copy.whoami().await?;
    for (person, whose) in [(&first, "first"), (&second, "second")] {
        require(!person.is_shown_in(&kept.body), || {
            format!(
                "after a second user has signed in, the first user's old cookie opens the {whose} user's session"
            )
        })?;
    }
    // The two accounts are not joined: neither user sees the other in a fresh browser.
    for (own, foreign) in [(&first, &second), (&second, &first)] {
        let mut user = trial.user_as("browser B", own.clone());
        user.try_sign_in().await?;
        no_takeover(
            user.sees(foreign).await?,
            || "two users who signed in one after the other in one browser share an account from then on",
        )?;
    }
    Ok(())
}

/// `session-rotated`: with the cookies of a visit, of a login that the attacker began,
/// and with made-up ones.
pub(super) async fn session_rotated(trial: &Trial<'_>) -> Outcome {
    let start = &trial.testbed.start;
    let mut visitor = trial.browser("the attacker's browser");
    visitor.open(start).await?;
    let mut begun = trial.user("the attacker's browser", "Mallory");
    begun.begin().await?;
    let names = trial.app.session_cookies.iter();
    let lines = names.map(|name| format!("{name}={}; Path=/", random::secret()));
    let made_up = lines.filter_map(|line| Cookie::parse(&line, start));
    for (origin, cookies) in [
        ("of a visit of the attacker's", visitor.jar.of(start)),
        (
            "of a login that the attacker began",
            begun.browser.jar.of(start),
        ),
        ("with a made-up value", made_up.collect()),
    ] {
        // An app may know a visitor by nothing.
        if !cookies.is_empty() {
            planted(trial, origin, &cookies).await?;
        }
    }
    Ok(())
}

/// A session that an attacker knew before the login, planted in the victim's browser.
async fn planted(trial: &Trial<'_>, origin: &str, cookies: &[Cookie]) -> Outcome {
    let mut victim = trial.user("the victim's browser", "Vera");
    let mut attacker = trial.user_as("the attacker's browser", victim.person.clone());
    for cookie in cookies {
        victim.browser.jar.store(cookie.clone());
        attacker.browser.jar.store(cookie.clone());
    }
    let visit = victim.begin().await?;
    let page = trial.to_provider(&mut victim.browser, visit).await?;
    request(&attacker, origin, "while the victim is away").await?;
    let callback = victim.choose(&page).await?;
    request(&attacker, origin, "while the victim comes back").await?;
    let race = (0..REQUESTS).map(|_| request(&attacker, origin, "while the victim comes back"));
    let (arrival, race) = tokio::join!(victim.visit(callback), try_join_all(race));
    race?;
    arrival?;
    request(&attacker, origin, "after the sign-in").await?;
    let failed = format!(
        "a user with a planted cookie {origin} is not signed in while the attacker requests the callback"
    );
    signed_in(&mut victim, &failed).await
}

/// Asks for the callback with the planted cookies, and looks whether the victim is signed in
/// then: with what the answer set, and with the planted cookies themselves, which stay the
/// attacker's.
async fn request(attacker: &User<'_>, origin: &str, when: &str) -> Outcome {
    let mut copy = attacker.clone();
    copy.open(&attacker.trial.callback()?).await?;
    for mut user in [copy, attacker.clone()] {
        no_takeover(user.is_signed_in().await?, || {
            format!(
                "the attacker planted a cookie {origin}, requested the callback with it {when}, and is signed in as the victim"
            )
        })?;
    }
    Ok(())
}

/// `restart-of-app`: sessions and logins from before a restart, among new ones.
pub(super) async fn restart_of_app(trial: &Trial<'_>) -> Outcome {
    // Counters begin anew, also in an app that earlier checks have used.
    trial.testbed.restart_app().await?;
    let mut old = Vec::new();
    for _ in 0..SESSIONS {
        old.push(trial.signed_in("browser A", "Ada").await?);
    }
    let (mut late, callback) = trial.user_at_callback("browser B", "Eve").await?;
    trial.testbed.restart_app().await?;

    let mut new = Vec::new();
    for _ in 0..=SESSIONS {
        new.push(trial.signed_in("browser C", "Nora").await?.person);
    }
    for user in &mut old {
        opens_no_other(user, &new).await?;
    }
    let page = late.visit(callback).await?;
    opens_no_other(&mut late, &new).await?;
    let ends_well = late.is_signed_in().await?;
    let what = "a login that a restart interrupts ends";
    no_server_error(&page, &format!("{what} with"))?;
    require(ends_well || offers_restart(trial, &page), || {
        let path = page.url.path();
        format!("{what} at {path}, which has no link or button to start again")
    })?;
    for user in old.iter_mut().take(1).chain([&mut late]) {
        is_usable(user).await?;
    }
    Ok(())
}

async fn opens_no_other(user: &mut User<'_>, new: &[Person]) -> Outcome {
    let page = user.whoami().await?;
    no_takeover(
        new.iter().any(|person| person.is_shown_in(&page.body)),
        || "a cookie from before a restart opens the session of a user who signed in after it",
    )?;
    no_server_error(&page, "a browser with a cookie from before a restart gets")
}

/// A user with cookies from before the restart signs in again.
async fn is_usable(user: &mut User<'_>) -> Outcome {
    let page = user.open(&user.trial.testbed.start).await?;
    let first = user.trial.way()?.steps.first();
    if first.is_none_or(|step| step.on_page(&page).is_none()) {
        // The session outlived the restart, and the page offers no second sign-in.
        let status = page.status;
        return require(status < 400, || {
            format!("after a restart the start page answers an old cookie with {status}")
        });
    }
    user.person = Person::new("Ada");
    let failed = "a browser with a cookie from before a restart cannot sign in";
    let ended = user.try_sign_in().await;
    require(ended.is_ok(), || failed)?;
    signed_in(user, failed).await
}

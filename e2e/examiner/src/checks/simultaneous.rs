//! Many requests at once: each browser gets what is its own, and each login ends once.

use std::collections::{HashMap, HashSet};

use futures_util::future::{join_all, try_join_all};

use super::cookie::session_cookies;
use crate::browser::{Browser, Page, Visit};
use crate::calls::Call;
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require, require_no_server_error};

/// The number of callbacks that one browser asks for at once.
const CALLBACKS: usize = 20;

/// The number of times that a race is run.
const ROUNDS: usize = 2;

/// The number of people who sign in at once.
const PEOPLE: usize = 50;

/// When others ask for the callback of a user who comes back.
#[derive(Clone, Copy)]
enum Moment {
    /// Just before, so that what any browser may take is taken.
    Before,
    /// At the same moment.
    Same,
}

/// `binding-own`: browsers ask for the callback of another, and then each for its own.
pub(super) async fn binding_own(trial: &Trial<'_>) -> Outcome {
    for moment in [Moment::Before, Moment::Same] {
        foreign_callback(trial, moment).await?;
    }
    own_callbacks(trial).await
}

/// The victim comes back; two others, one of whom is signed in, ask for that callback.
async fn foreign_callback(trial: &Trial<'_>, moment: Moment) -> Outcome {
    let (victim, other) = (Person::new("Vera"), Person::new("Otto"));
    let mut own = trial.browser("the victim's browser");
    let mut attacker = trial.browser("the attacker's browser");
    let mut user = trial.browser("browser B");
    trial.sign_in(&mut user, &other).await?;
    let callback = trial.up_to_callback(&mut own, &victim).await?;
    // The attacker has begun a login, too: a browser without any cookie is `binding-required`.
    trial.begin(&mut attacker).await?;

    let foreign = Visit::typed(&callback.url);
    let others = try_join_all([&mut attacker, &mut user].map(|it| it.visit(foreign.clone())));
    let (pages, own_page) = match moment {
        Moment::Before => (others.await?, own.visit(callback).await?),
        Moment::Same => tokio::try_join!(others, own.visit(callback))?,
    };
    for page in pages.iter().chain([&own_page]) {
        check_status(page)?;
    }
    for browser in [&mut attacker, &mut user] {
        if trial.is_signed_in(browser, &victim).await? {
            return Err(Stop::takeover(format!(
                "{} asked for the callback as another user came back, and is signed in as that user",
                browser.transport.name
            )));
        }
    }
    let stays = trial.is_signed_in(&mut user, &other).await?;
    require(stays, || {
        "a signed-in user who asks for another user's callback is signed out".to_owned()
    })?;
    let ends_well = trial.is_signed_in(&mut own, &victim).await?;
    require(ends_well, || {
        "a user who comes back while other browsers ask for the callback is not signed in"
            .to_owned()
    })
}

/// Two people come back at once, each to their own callback.
async fn own_callbacks(trial: &Trial<'_>) -> Outcome {
    let (one, other) = (Person::new("Vera"), Person::new("Otto"));
    let mut first = trial.browser("browser A");
    let mut second = trial.browser("browser B");
    let visits = (
        trial.up_to_callback(&mut first, &one).await?,
        trial.up_to_callback(&mut second, &other).await?,
    );
    let (page, second_page) = tokio::join!(first.visit(visits.0), second.visit(visits.1));
    check_status(&page?)?;
    check_status(&second_page?)?;
    for (browser, own, foreign) in [(first, &one, &other), (second, &other, &one)] {
        check_person(trial, browser, own, foreign).await?;
    }
    Ok(())
}

async fn check_person(
    trial: &Trial<'_>,
    mut browser: Browser,
    own: &Person,
    foreign: &Person,
) -> Outcome {
    let page = trial.whoami(&mut browser).await?;
    if foreign.is_shown_in(&page.body) {
        return Err(Stop::takeover(format!(
            "two users came back at once, and {} is signed in as the other's",
            browser.transport.name
        )));
    }
    require(own.is_shown_in(&page.body), || {
        format!(
            "two users came back at once, and {} is not signed in",
            browser.transport.name
        )
    })
}

/// The most calls of `operation` that one login has: an app may call for others meanwhile.
fn most_of_one_login(calls: &[Call], operation: &str) -> usize {
    let mut counts: HashMap<_, usize> = HashMap::new();
    for call in calls.iter().filter(|it| it.operation == operation) {
        *counts.entry(&call.login).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

/// `concurrent-callback`: one browser asks for its callback twenty times at once.
pub(super) async fn concurrent_callback(trial: &Trial<'_>) -> Outcome {
    for _ in 0..ROUNDS {
        let person = Person::new("Ada");
        let mut browser = trial.browser("browser A");
        let callback = trial.up_to_callback(&mut browser, &person).await?;
        let mark = trial.mark().await?;
        let mut tabs = vec![browser; CALLBACKS];
        let arrivals = tabs.iter_mut().map(|tab| tab.visit(callback.clone()));
        for page in try_join_all(arrivals).await? {
            check_status(&page)?;
        }
        let calls = trial.calls(mark).await?;
        let operation = trial.flow.one_time_call();
        let made = most_of_one_login(&calls, operation);
        require(made == 1, || {
            format!("{CALLBACKS} callbacks at once made the app call {operation} {made} times")
        })?;
        let looks = tabs.iter_mut().map(|tab| trial.is_signed_in(tab, &person));
        let signed_in = try_join_all(looks).await?;
        let pairs = tabs.iter().zip(signed_in);
        let sessions: HashSet<_> = pairs
            .filter(|(_, is_in)| *is_in)
            .map(|(tab, _)| values(trial, tab))
            .collect();
        require(!sessions.is_empty(), || {
            format!("after {CALLBACKS} callbacks at once the user is not signed in")
        })?;
        require(sessions.len() == 1, || {
            format!(
                "{CALLBACKS} callbacks at once began {} sessions",
                sessions.len()
            )
        })?;
    }
    Ok(())
}

fn values(trial: &Trial<'_>, browser: &Browser) -> Vec<(String, String)> {
    let cookies = session_cookies(trial, browser).into_iter();
    cookies.map(|cookie| (cookie.name, cookie.value)).collect()
}

/// `users-apart`: fifty people sign in at once, and then look at every page at once.
pub(super) async fn users_apart(trial: &Trial<'_>) -> Outcome {
    trial
        .sign_in(&mut trial.browser("browser A"), &Person::new("Ada"))
        .await?;
    let people: Vec<_> = (0..PEOPLE).map(|_| Person::new("Ada")).collect();
    let mut browsers: Vec<_> = (1..=PEOPLE)
        .map(|number| trial.browser(&format!("browser {number}")))
        .collect();
    let visits = browsers.iter_mut().zip(&people);
    let visits = visits.map(|(browser, person)| trial.try_sign_in(browser, person));
    let landings = join_all(visits).await;
    // Only when all are signed in: an app that has room for fewer sessions mixes them up then.
    let looks = browsers.iter_mut().zip(&people);
    let looks = looks.map(|(browser, person)| look(trial, browser, person));
    let looks = join_all(looks).await;
    for (browser, own) in browsers.iter().zip(&people) {
        let pages = browser.seen.iter();
        for page in pages.filter(|page| trial.testbed.is_app(&page.url)) {
            let foreign = people.iter().filter(|other| *other != own);
            if foreign
                .into_iter()
                .any(|other| other.is_shown_in(&page.body))
            {
                return Err(Stop::takeover(format!(
                    "of {PEOPLE} users at once, one sees another's profile at {}",
                    page.url.path()
                )));
            }
        }
    }
    landings.into_iter().collect::<Outcome<Vec<_>>>()?;
    let looks: Vec<_> = looks.into_iter().collect::<Outcome<_>>()?;
    let missing = looks.iter().filter(|is_in| !**is_in).count();
    require(missing == 0, || {
        format!("of {PEOPLE} users who sign in at once, {missing} are not signed in")
    })
}

/// Whether the app shows `person`.
async fn look(trial: &Trial<'_>, browser: &mut Browser, person: &Person) -> Outcome<bool> {
    if trial.testbed.at(&trial.app.whoami)? != trial.testbed.start {
        browser.open(&trial.testbed.start).await?;
    }
    trial.is_signed_in(browser, person).await
}

fn check_status(page: &Page) -> Outcome {
    require_no_server_error(page.status, || {
        format!(
            "a callback that comes with others is answered with status {} at {}",
            page.status,
            page.url.path()
        )
    })
}

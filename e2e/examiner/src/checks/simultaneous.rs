//! Many requests at once: each browser gets what is its own, and each login ends once.

use std::collections::{HashMap, HashSet};

use futures_util::future::{join_all, try_join_all};

use super::demands::{no_server_error, session_cookies, signed_in};
use super::sign_out::opens_session;
use crate::browser::{Page, Visit};
use crate::calls::Call;
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, no_takeover, require};

/// The number of callbacks that one browser asks for at once.
const CALLBACKS: usize = 20;

/// The number of times that a race is run.
const ROUNDS: usize = 2;

/// The number of people who sign in at once.
const PEOPLE: usize = 50;

/// `binding-own`: two other browsers ask for the callback of a user who comes back: just before,
/// so that what any browser may take is taken, and at the same moment.
pub(super) async fn binding_own(trial: &Trial<'_>) -> Outcome {
    for at_once in [false, true] {
        foreign_callback(trial, at_once).await?;
    }
    Ok(())
}

/// The victim comes back; two others, one of whom is signed in, ask for that callback.
async fn foreign_callback(trial: &Trial<'_>, at_once: bool) -> Outcome {
    let mut victim = trial.user("the victim's browser", "Vera");
    let mut attacker = trial.user("the attacker's browser", "Mallory");
    let mut otto = trial.signed_in("browser B", "Otto").await?;
    let callback = victim.up_to_callback().await?;
    // The attacker has begun a login, too: a browser without any cookie is `binding-required`.
    attacker.begin().await?;

    let foreign = Visit::typed(&callback.url);
    let others = try_join_all([&mut attacker, &mut otto].map(|it| it.visit(foreign.clone())));
    let (pages, own_page) = match at_once {
        true => tokio::try_join!(others, victim.visit(callback))?,
        false => (others.await?, victim.visit(callback).await?),
    };
    for page in pages.iter().chain([&own_page]) {
        check_status(page)?;
    }
    for user in [&mut attacker, &mut otto] {
        no_takeover(user.sees(&victim.person).await?, || {
            format!(
                "{} asked for the callback as another user came back, and is signed in as that user",
                user.browser.transport.name
            )
        })?;
    }
    let failed = "a signed-in user who asks for another user's callback is signed out";
    signed_in(&mut otto, failed).await?;
    let failed = "a user who comes back while other browsers ask for the callback is not signed in";
    signed_in(&mut victim, failed).await
}

/// The most calls of `operation` that one login has: an app may call for others meanwhile.
pub(super) fn most_of_one_login(calls: &[Call], operation: &str) -> usize {
    let mut counts: HashMap<_, usize> = HashMap::new();
    for call in calls.iter().filter(|it| it.operation == operation) {
        *counts.entry(&call.login).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

/// `concurrent-callback`: one browser asks for its callback twenty times at once.
pub(super) async fn concurrent_callback(trial: &Trial<'_>) -> Outcome {
    for _ in 0..ROUNDS {
        let (ada, callback) = trial.user_at_callback("browser A", "Ada").await?;
        let mark = trial.mark().await?;
        let mut tabs = vec![ada; CALLBACKS];
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
        let looks = tabs.iter_mut().map(User::is_signed_in);
        let signed_in = try_join_all(looks).await?;
        let pairs = tabs.iter().zip(signed_in).filter(|(_, is_in)| *is_in);
        let sessions = pairs.map(|(tab, _)| session_of(tab));
        let sessions = HashSet::<_>::from_iter(sessions).len();
        require(sessions > 0, || {
            format!("after {CALLBACKS} callbacks at once the user is not signed in")
        })?;
        require(sessions == 1, || {
            format!("{CALLBACKS} callbacks at once began {sessions} sessions")
        })?;
    }
    Ok(())
}

fn session_of(user: &User<'_>) -> Vec<(String, String)> {
    let cookies = session_cookies(user.trial, &user.browser).into_iter();
    cookies.map(|cookie| (cookie.name, cookie.value)).collect()
}

/// `users-apart`: fifty people sign in at once, and then look at every page at once.
pub(super) async fn users_apart(trial: &Trial<'_>) -> Outcome {
    trial.user("browser A", "Ada").sign_in().await?;
    let mut users: Vec<_> = (1..=PEOPLE)
        .map(|number| trial.user(&format!("browser {number}"), "Ada"))
        .collect();
    let landings = join_all(users.iter_mut().map(User::try_sign_in)).await;
    // Only when all are signed in: an app that has room for fewer sessions mixes them up then.
    let looks = join_all(users.iter_mut().map(opens_session)).await;
    for user in &users {
        let pages = user.browser.seen.iter();
        for page in pages.filter(|page| trial.testbed.is_app(&page.url)) {
            let mut foreign = users.iter().map(|it| &it.person);
            let is_seen = foreign.any(|it| *it != user.person && it.is_shown_in(&page.body));
            no_takeover(is_seen, || {
                let path = page.url.path();
                format!("of {PEOPLE} users at once, one sees another's profile at {path}")
            })?;
        }
    }
    landings.into_iter().collect::<Outcome<Vec<_>>>()?;
    let looks: Vec<_> = looks.into_iter().collect::<Outcome<_>>()?;
    let missing = looks.iter().filter(|is_in| !**is_in).count();
    require(missing == 0, || {
        format!("of {PEOPLE} users who sign in at once, {missing} are not signed in")
    })
}

fn check_status(page: &Page) -> Outcome {
    let path = page.url.path();
    let what = format!("a callback that comes with others is answered at {path} with");
    no_server_error(page, &what)
}

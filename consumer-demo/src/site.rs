//! The application itself, small as it is: a home page, a profile, signing in
//! at the end of either flow, and signing out.

use std::sync::Arc;

use contract::Profile;
use rocket::{Route, State, get, post, routes};

use crate::App;
use crate::browser::{Browser, SessionEnded};
use crate::guards::{OwnForm, SeeOther};
use crate::pages::{HomePage, Page, Problem, ProfilePage};
use crate::session::{SessionRef, Via};

pub(crate) fn routes() -> Vec<Route> {
    routes![home, profile, sign_out]
}

/// The two flows, side by side, with what the broker says of its providers.
#[get("/")]
async fn home(browser: Browser<'_>, app: &State<Arc<App>>) -> HomePage {
    // A broker that can't be asked is no reason to show no page: then every
    // provider's status is unknown, and the buttons work as ever.
    let statuses = app.broker.providers().await.unwrap_or_default();
    HomePage::new(browser.visitor(), &statuses)
}

/// What we know of the person who is signed in.
#[get("/profile")]
fn profile(browser: Browser<'_>) -> Result<ProfilePage, SeeOther> {
    browser
        .visitor()
        .map(ProfilePage::new)
        .ok_or_else(|| SeeOther::page("/"))
}

/// Both flows end here: with a profile, and with a session of *our own*. What
/// the broker knows of the person matters no more from here on.
pub(crate) async fn sign_in(
    app: &App,
    browser: &Browser<'_>,
    session: SessionRef,
    profile: Profile,
    via: Via,
) -> Result<SeeOther, Page> {
    match browser.sign_in(session, profile, via.clone()) {
        Ok(None) => {}
        Ok(Some(replaced)) => revoke(app, &replaced.via).await,
        // The user signed out in another tab while the code was exchanged. There is
        // nobody to sign in any more, and nobody who would ever revoke the token.
        Err(SessionEnded) => {
            revoke(app, &via).await;
            return Err(Page::problem(browser, Problem::NoSession));
        }
    }
    Ok(SeeOther::page("/profile"))
}

/// Signs out.
#[post("/sign-out")]
async fn sign_out(_ours: OwnForm, browser: Browser<'_>, app: &State<Arc<App>>) -> SeeOther {
    // Our session first: that is what "signed out" means, and from here on it
    // is true, whatever the broker answers or fails to answer. It takes logins
    // under way in other tabs with it.
    let ended = browser.sign_out();
    if let Some(person) = ended.as_ref().and_then(|session| session.signed_in()) {
        revoke(app, &person.via).await;
    }
    SeeOther::page("/")
}

/// Revokes the token, if there is one, of a user who is not signed in by it any more:
/// once, and without looking at the outcome. It works the other way round, too:
/// revoking a token signs nobody out here.
async fn revoke(app: &App, via: &Via) {
    match via {
        Via::Legacy(token) => app.broker.revoke(token).await,
        Via::Clean => {}
    }
}

//! The application itself, small as it is: a home page, a profile with a note, signing
//! in at the end of either flow, and signing out.

use std::sync::Arc;

use contract::Profile;
use rocket::form::Form;
use rocket::{FromForm, Route, State, get, post, routes};

use crate::app::App;
use crate::browser::{Browser, SessionEnded};
use crate::guards::{SameOriginPost, SeeOther};
use crate::pages::{HomePage, Problem, ProblemPage, ProfilePage};
use crate::session::{SessionRef, Via};

pub(crate) fn routes() -> Vec<Route> {
    routes![home, profile, keep_note, sign_out]
}

/// Shows the two flows side by side, with the status of each provider.
#[get("/")]
async fn home(browser: Browser<'_>, app: &State<Arc<App>>) -> HomePage {
    // The page is shown without the broker, too: then every provider's status is
    // unknown, and the buttons work as ever.
    let statuses = app.broker.providers().await.unwrap_or_default();
    HomePage::new(browser.user(), &statuses)
}

/// Shows the profile and the account of the signed-in user.
#[get("/profile")]
fn profile(browser: Browser<'_>) -> Result<ProfilePage, SeeOther> {
    browser
        .user()
        .map(ProfilePage::new)
        .ok_or_else(|| SeeOther::page("/"))
}

/// The form on the profile page.
#[derive(FromForm)]
struct NoteForm {
    #[field(validate = len(..=MAX_NOTE_CHARACTERS))]
    note: String,
}

/// The length of a note, which the form's field has, too.
const MAX_NOTE_CHARACTERS: usize = 500;

/// Keeps a note in the account of the signed-in user. Whose account it is says the
/// session alone, and never the form.
#[post("/note", data = "<form>")]
fn keep_note(
    _ours: SameOriginPost,
    browser: Browser<'_>,
    app: &State<Arc<App>>,
    form: Form<NoteForm>,
) -> SeeOther {
    let NoteForm { note } = form.into_inner();
    match browser.user() {
        Some(user) => {
            let subject = &user.account.profile.subject;
            app.accounts.keep_note(subject, &note);
            SeeOther::page("/profile")
        }
        None => SeeOther::page("/"),
    }
}

// [sign_in]
/// Signs a user in at the end of either flow. From here on only a session of
/// *our own* counts, and nothing that the broker knows of the user.
pub(crate) async fn sign_in(
    app: &App,
    browser: &Browser<'_>,
    session: SessionRef,
    profile: Profile,
    via: Via,
) -> Result<SeeOther, ProblemPage> {
    match browser.sign_in(session, &profile, via.clone()) {
        Ok(None) => {}
        Ok(Some(replaced)) => revoke(app, &replaced.via).await,
        // The user signed out in another tab while the code was exchanged. No
        // session is left that would ever revoke the token.
        Err(SessionEnded) => {
            revoke(app, &via).await;
            return Err(ProblemPage::new(browser, Problem::NoSession));
        }
    }
    Ok(SeeOther::page("/profile"))
}

// [sign_out]
/// Signs the user out.
#[post("/sign-out")]
async fn sign_out(_ours: SameOriginPost, browser: Browser<'_>, app: &State<Arc<App>>) -> SeeOther {
    // Our session first: its end is what "signed out" means, whatever the broker
    // answers or fails to answer. It ends the logins under way in other tabs, too.
    if let Some(user) = browser.sign_out() {
        revoke(app, &user.via).await;
    }
    SeeOther::page("/")
}

/// Revokes the token, if there is one, of a user who is not signed in by it any more:
/// once, and without looking at the outcome. The reverse holds, too: the end of a
/// token signs no user out.
async fn revoke(app: &App, via: &Via) {
    match via {
        Via::Legacy(token) => app.broker.revoke(token).await,
        Via::Clean => {}
    }
}
// [/]

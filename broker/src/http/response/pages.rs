//! The broker's pages, for users whose browser cannot be redirected.

mod page_text;

use askama::Template;
use contract::{Origin, Rule};
use rocket::response::content::RawHtml;

use super::headers::FormPage;
use crate::model::login_session::Handle;
use crate::projects::Project;
use crate::sign_in::{Confirmation, Question};
use page_text::PageText;

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage<'a> {
    text: PageText,
    way_back: Option<WayBack<'a>>,
    rule: Rule,
    request_id: &'a str,
}

/// The link to the app that the sign-in was for.
struct WayBack<'a> {
    project: &'a str,
    origin: &'a Origin,
}

/// The page for a refusal: what the user can do, and, for the app's makers, the rule and
/// the id of the log line. `project` is the one that the sign-in was for, if it is known.
pub(crate) fn refusal(rule: Rule, request_id: &str, project: Option<&Project>) -> RawHtml<String> {
    let page = RefusalPage {
        text: PageText::of(rule),
        way_back: project.and_then(WayBack::to),
        rule,
        request_id,
    };
    RawHtml(page.render().expect("the template only writes strings"))
}

impl<'a> WayBack<'a> {
    fn to(project: &'a Project) -> Option<Self> {
        let callback = project.redirect_uris.first()?;
        let origin = project.start_origins(callback).first()?;
        Some(Self {
            project: project.name.as_str(),
            origin,
        })
    }
}

#[derive(Template)]
#[template(path = "confirmation.html")]
struct ConfirmationPage<'a> {
    project: &'a str,
    host: &'a str,
    provider: &'static str,
    question: Question,
    form: &'a FormTarget<'a>,
    request_id: &'a str,
}

/// The address of the two buttons of a confirmation page.
pub(crate) enum FormTarget<'a> {
    /// One each, below the authorization URL.
    Login(&'a Handle),
    /// The page's own, whose query the page must not contain.
    Here,
}

/// The page that asks whether the user started this sign-in.
pub(crate) fn confirmation(
    confirmation: &Confirmation,
    form: &FormTarget<'_>,
    request_id: &str,
) -> FormPage<RawHtml<String>> {
    let Confirmation {
        project,
        origin,
        provider,
        question,
    } = confirmation;
    let page = ConfirmationPage {
        project: project.name.as_str(),
        host: host(origin),
        provider: provider.display_name(),
        question: *question,
        form,
        request_id,
    };
    FormPage(RawHtml(
        page.render().expect("the template only writes strings"),
    ))
}

/// Host and port, as the address bar shows them.
fn host(origin: &Origin) -> &str {
    let text = origin.as_str();
    text.split_once("://").map_or(text, |(_, host)| host)
}

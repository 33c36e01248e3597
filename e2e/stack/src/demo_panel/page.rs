//! The HTML that is added to the demo's pages.

use askama::Template;

use super::story::{Line, Story};
use crate::sources::Place;

/// The content of the panel.
pub(super) struct Panel {
    /// The lines; none if the login is gone.
    pub(super) lines: Vec<Line>,
    pub(super) login: Option<String>,
}

#[derive(Template)]
#[template(path = "demo_panel/panel.html")]
struct PanelTemplate<'a> {
    panel: &'a Panel,
    control: &'a str,
}

#[derive(Template)]
#[template(path = "demo_panel/links.html")]
struct LinksTemplate<'a> {
    control: &'a str,
    clean: String,
    legacy: String,
}

impl Panel {
    pub(super) fn of(story: Story) -> Self {
        Self {
            lines: story.into_lines(),
            login: None,
        }
    }

    /// The panel for a login that the stack does not know any more.
    pub(super) fn gone() -> Self {
        Self {
            lines: Vec::new(),
            login: None,
        }
    }

    pub(super) fn with_login(self, login: &str) -> Self {
        Self {
            login: Some(login.to_owned()),
            ..self
        }
    }
}

/// The problem that a page is about, from its mark.
pub(super) fn problem(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("data-problem=\"")?;
    rest.split_once('"').map(|(problem, _)| problem)
}

/// A page with the panel: above the first card of the profile, at the end of another page.
pub(super) fn with_panel(html: &str, control: &str, panel: &Panel) -> String {
    let template = PanelTemplate { panel, control };
    let addition = template.render().expect("the template only writes strings");
    let place = match problem(html) {
        None => "<section class=\"card\"",
        Some(_) => "</main>",
    };
    styled(&inserted(html, place, &addition))
}

/// The home page with links to the pages of the stack.
pub(super) fn with_links(html: &str, control: &str) -> String {
    let template = LinksTemplate {
        control,
        clean: Place::StartLogin.file().href(),
        legacy: Place::LegacyState.file().href(),
    };
    let addition = template.render().expect("the template only writes strings");
    styled(&inserted(html, "<main", &addition))
}

fn styled(html: &str) -> String {
    let link = "<link rel=\"stylesheet\" href=\"/kit/panel.css\">\n";
    inserted(html, "</head>", link)
}

/// `html` with `addition` before the first `place`; unchanged without one.
fn inserted(html: &str, place: &str, addition: &str) -> String {
    match html.find(place) {
        Some(at) => [&html[..at], addition, &html[at..]].concat(),
        None => html.to_owned(),
    }
}

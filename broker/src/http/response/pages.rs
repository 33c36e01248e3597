//! The broker's pages, for users whose browser cannot be redirected.

use askama::Template;
use contract::{Origin, Rule};
use rocket::response::content::RawHtml;
use rocket::response::{self, Responder};
use rocket::{Request, Response};

use crate::model::login_session::Handle;
use crate::projects::Project;
use crate::sign_in::{Confirmation, Question};

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

/// The policy of the one page that has a script: otherwise the same as for every answer.
const POLICY_WITH_SCRIPT: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// A page with forms. It has a script, and sends its origin with a form: under
/// `no-referrer`, browsers would send `Origin: null`.
pub(crate) struct FormPage<R>(pub(crate) R);

impl<'r, 'o: 'r, R: Responder<'r, 'o>> Responder<'r, 'o> for FormPage<R> {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'o> {
        Response::build_from(self.0.respond_to(request)?)
            .raw_header("Content-Security-Policy", POLICY_WITH_SCRIPT)
            .raw_header("Referrer-Policy", "same-origin")
            .ok()
    }
}

/// The page that asks whether the user started this sign-in.
pub(crate) fn confirmation(
    confirmation: &Confirmation,
    form: &FormTarget<'_>,
    request_id: &str,
) -> FormPage<RawHtml<String>> {
    let page = ConfirmationPage {
        project: confirmation.project.name.as_str(),
        host: host(&confirmation.origin),
        provider: confirmation.provider.display_name(),
        question: confirmation.question,
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

/// A page's title, and what happened and what to do, in words for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageText {
    title: &'static str,
    text: &'static str,
}

impl PageText {
    /// The text for a request that `rule` refused. A user can do nothing about most rules;
    /// those share one text.
    fn of(rule: Rule) -> Self {
        let (title, text) = match rule {
            Rule::HandleKnown => (
                "This sign-in is over",
                "This sign-in link has expired, or was already used. Go back to the app and start again.",
            ),
            Rule::UpstreamLoginOnce => (
                "This sign-in is over",
                "This sign-in was already used. Go back to the app; if you are not signed in there, start again.",
            ),
            Rule::UpstreamLoginExpiry => (
                "This sign-in is over",
                "It took longer than ten minutes, so it has ended. Go back to the app and start again.",
            ),
            Rule::HandleOneBrowser => (
                "This sign-in belongs to another browser",
                "This link was already opened in another browser. If that was not you, someone else \
                 may have your link. Go back to the app and start again.",
            ),
            Rule::UpstreamLoginOwnBrowser => (
                "This sign-in did not begin in this browser",
                "You came back in another browser than the one you started in, or this browser does \
                 not keep cookies. Go back to the app, start again, and stay in one browser.",
            ),
            Rule::RequestCookies => (
                "A cookie in this browser cannot be read",
                "Another site of the same domain has left a cookie that hides ours. Delete the cookies \
                 of this domain in your browser's settings, then go back to the app and start again.",
            ),
            Rule::UpstreamLoginRateLimit => (
                "Too many people are signing in from here",
                "There are too many sign-ins from your network at the moment. Wait a minute, then \
                 reload this page. Your sign-in is not lost.",
            ),
            Rule::BrokerOverload => (
                "Too many people are signing in right now",
                "Wait a moment, then go back to the app and start again.",
            ),
            Rule::RelayOwnPage => (
                "This did not come from our own page",
                "The button that you pressed was not ours. If another website brought you here, close \
                 this page. Otherwise go back to the app and start again.",
            ),
            Rule::RequestPath | Rule::RequestMethod => (
                "Page not found",
                "There is nothing to see at this address. To sign in, go to the app that you want to use.",
            ),
            Rule::RequestPrefetch => (
                "This page was not loaded ahead of time",
                "Open the link to load it.",
            ),
            Rule::StoreReachable => (
                "Sign-in is not possible right now",
                "The sign-in service is not available at the moment. Try again in a minute.",
            ),
            Rule::BrokerFault => (
                "Sign-in is not possible right now",
                "Something went wrong on our side. Try again in a minute.",
            ),
            Rule::AuthorizeClient | Rule::RedirectUriRegistered => (
                "This sign-in cannot go on",
                "The sign-in of this app is not set up correctly. Please tell the app's makers.",
            ),
            _ => (
                "This sign-in cannot go on",
                "Your browser sent something that we cannot use. Go back to the app and start again; \
                 if that does not help, tell the app's makers.",
            ),
        };
        Self { title, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_for_users_is_the_sentence_of_a_rule_or_has_a_word_of_the_protocol() {
        let words = [
            "client_id",
            "redirect_uri",
            "GET ",
            "curl",
            "rule",
            "broker",
        ];
        for shown in Rule::ALL {
            let PageText { title, text } = PageText::of(*shown);
            assert!(text.ends_with('.') && !title.ends_with('.'), "{shown}");
            for rule in Rule::ALL {
                assert!(!title.contains(rule.sentence()), "{shown}: {title}");
                assert!(!text.contains(rule.sentence()), "{shown}: {text}");
                assert!(!text.contains(rule.advice()), "{shown}: {text}");
            }
            for word in words {
                let has_word = title.contains(word) || text.contains(word);
                assert!(!has_word, "{shown}: {title} {text}");
            }
        }
    }
}

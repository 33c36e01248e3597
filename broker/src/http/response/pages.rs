//! The broker's pages, for users whose browser cannot be redirected.

use askama::Template;
use contract::{Origin, Rule};
use rocket::response::content::RawHtml;

use super::headers::FormPage;
use crate::model::login_session::Handle;
use crate::relay::RelayGuard;
use crate::sign_in::clean::Confirmation;

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage<'a> {
    title: &'static str,
    description: &'static str,
    advice: &'static str,
    rule: &'static str,
    request_id: &'a str,
}

/// The page for a refusal: the rule, what to do, and the id of the log line.
pub(crate) fn refusal(rule: Rule, request_id: &str) -> RawHtml<String> {
    let page = RefusalPage {
        title: title(rule),
        description: rule.sentence(),
        advice: rule.advice(),
        rule: rule.id(),
        request_id,
    };
    RawHtml(page.render().expect("the template only writes strings"))
}

fn title(rule: Rule) -> &'static str {
    match rule {
        Rule::HandleKnown | Rule::UpstreamLoginOnce | Rule::UpstreamLoginExpiry => {
            "This sign-in is over"
        }
        Rule::RelayOwnPage => "This did not come from our own page",
        Rule::HandleOneBrowser => "This sign-in belongs to another browser",
        Rule::UpstreamLoginOwnBrowser => "This sign-in did not begin in this browser",
        Rule::UpstreamLoginRateLimit => "Too many people are signing in from here",
        Rule::RequestPath => "There is nothing here",
        Rule::BrokerOverload => "Too many people are signing in right now",
        Rule::StoreReachable | Rule::BrokerFault => "Sign-in is not possible right now",
        _ => "This sign-in cannot go on",
    }
}

#[derive(Template)]
#[template(path = "confirmation.html")]
struct ConfirmationPage<'a> {
    project: &'a str,
    host: &'a str,
    provider: &'static str,
    handle: &'a str,
    always_asks: bool,
    request_id: &'a str,
}

/// The page that asks whether the user started this sign-in.
pub(crate) fn confirmation(
    confirmation: &Confirmation,
    handle: &Handle,
    request_id: &str,
) -> FormPage<RawHtml<String>> {
    let Confirmation {
        project,
        origin,
        provider,
    } = confirmation;
    let page = ConfirmationPage {
        project: project.name.as_str(),
        host: host(origin),
        provider: provider.display_name(),
        handle: handle.expose(),
        always_asks: project.relay_guard == RelayGuard::Always,
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

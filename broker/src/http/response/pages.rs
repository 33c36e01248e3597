//! The broker's few pages: what a person sees when it cannot send them on.

use askama::Template;
use contract::{Origin, Provider, Rule};
use rocket::response::content::RawHtml;

use crate::http::response::headers::Pressable;
use crate::projects::Project;
use crate::relay::RelayGuard;

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage<'a> {
    title: &'static str,
    says: &'static str,
    advice: &'static str,
    rule: &'static str,
    request_id: &'a str,
}

/// The page for a refusal: the rule, what to do, and how to find it in the log.
pub(crate) fn refusal(rule: Rule, request_id: &str) -> RawHtml<String> {
    let page = RefusalPage {
        title: title(rule),
        says: rule.sentence(),
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
        Rule::StoreReachable | Rule::BrokerFault => "Sign-in is not possible right now",
        _ => "This sign-in cannot go on",
    }
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage<'a> {
    project: &'a str,
    host: &'a str,
    provider: &'static str,
    handle: &'a str,
    always_asks: bool,
    request_id: &'a str,
}

/// The page that asks whether the person started this sign-in.
pub(crate) fn question(
    project: &Project,
    home: &Origin,
    provider: Provider,
    handle: &str,
    request_id: &str,
) -> Pressable<RawHtml<String>> {
    let page = QuestionPage {
        project: project.name.as_str(),
        host: host(home),
        provider: provider.display_name(),
        handle,
        always_asks: project.relay_guard == RelayGuard::Always,
        request_id,
    };
    Pressable(RawHtml(
        page.render().expect("the template only writes strings"),
    ))
}

/// Host and port: what people see in their address bar.
fn host(origin: &Origin) -> &str {
    let text = origin.as_str();
    text.split_once("://").map_or(text, |(_, host)| host)
}

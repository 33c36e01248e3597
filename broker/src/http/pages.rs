//! The broker's few pages: what a person sees when it cannot send them on.

use askama::Template;
use contract::Rule;
use rocket::get;
use rocket::response::content::{RawCss, RawHtml};

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
pub(super) fn refusal(rule: Rule, request_id: &str) -> RawHtml<String> {
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
        Rule::HandleKnown | Rule::TripOnce | Rule::TripExpiry => "This sign-in is over",
        Rule::HandleOneBrowser => "This sign-in belongs to another browser",
        Rule::TripOwnBrowser => "This sign-in did not begin in this browser",
        Rule::RequestPath => "There is nothing here",
        Rule::StoreReachable | Rule::BrokerFault => "Sign-in is not possible right now",
        _ => "This sign-in cannot go on",
    }
}

/// The pages' one stylesheet.
#[get("/style.css")]
pub(super) fn style() -> RawCss<&'static str> {
    RawCss(include_str!("../../templates/style.css"))
}

//! The page `/rules`: every rule by which the broker refuses something, with an anchor at
//! each, such as `/rules#result.once`. The inspector's refusals lead here.

use std::collections::BTreeMap;

use askama::Template;
use contract::rules::Rule;
use rocket::http::ContentType;
use rocket::response::content::RawHtml;
use rocket::{Route, get, routes};

use crate::labels;
use crate::page::{PageHeader, asset, html};
use crate::request::Runtime;

pub(super) fn routes() -> Vec<Route> {
    let style = include_str!("../../static/rules.css");
    let mut routes = routes![page];
    routes.push(asset("/rules.css", ContentType::CSS, style));
    routes
}

#[derive(Template)]
#[template(path = "rules.html")]
struct RulesPage {
    header: PageHeader,
    /// The rules by the first word of their ids.
    areas: BTreeMap<&'static str, Vec<Rule>>,
}

#[get("/rules")]
fn page(runtime: &Runtime) -> RawHtml<String> {
    let mut areas = BTreeMap::<_, Vec<_>>::new();
    for rule in Rule::ALL {
        let area = rule.id().split('.').next().unwrap_or_default();
        areas.entry(area).or_default().push(*rule);
    }
    let header = PageHeader::new(runtime);
    html(&RulesPage { header, areas })
}

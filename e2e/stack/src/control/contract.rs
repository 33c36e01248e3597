//! The published contract as a page: `GET /contract`.
//!
//! Scalar's own crate carries its renderer whole, so the page needs no network;
//! its policy lets it reach nothing but this address, whatever is in the script. A
//! browser without scripts shows the same operations as plain tables.

mod plain;

use std::sync::Arc;

use askama::Template;
use rocket::http::{ContentType, Header, Status};
use rocket::response::content::{RawHtml, RawJavaScript, RawJson};
use rocket::serde::json::{Value, json};
use rocket::{Responder, Route, State, get, routes};

use crate::world::World;

/// What the renderer needs: scripts and data of ours, styles that it writes
/// itself, and pictures that it carries along.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    connect-src 'self'; img-src 'self' data:; font-src 'self' data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes() -> Vec<Route> {
    routes![page, script, renderer, document]
}

/// A page with a policy of its own.
#[derive(Responder)]
struct Page {
    page: RawHtml<String>,
    policy: Header<'static>,
}

#[derive(Template)]
#[template(path = "contract.html")]
struct Contract {
    operations: Vec<plain::Operation>,
}

#[get("/contract")]
fn page() -> Page {
    let operations = plain::operations();
    let page = Contract { operations }.render();
    Page {
        page: RawHtml(page.expect("the template only writes strings")),
        policy: Header::new("Content-Security-Policy", POLICY),
    }
}

#[get("/contract/page.js")]
fn script() -> RawJavaScript<&'static str> {
    RawJavaScript(include_str!("../../templates/contract.js"))
}

/// A build for development reads it from Cargo's registry when asked, any other
/// carries it along.
#[get("/contract/scalar.js")]
fn renderer() -> Result<(ContentType, Vec<u8>), Status> {
    let script = scalar_api_reference::get_asset("scalar.js").ok_or(Status::NotFound)?;
    Ok((ContentType::JavaScript, script))
}

/// The document for a person: what this kit chose is said in the text, and the
/// server is the one that runs here.
#[get("/contract/openapi.json")]
fn document(world: &State<Arc<World>>) -> RawJson<String> {
    let document = serde_json::from_str(contract::openapi::DOCUMENT);
    let mut document: Value = document.expect("it was made when this was built");
    tell_choices(&mut document);
    document["servers"] =
        json!([{ "url": world.urls.broker, "description": "The broker of this stack." }]);
    RawJson(document.to_string())
}

/// Puts each `x-kit-choice` behind the description that it belongs to.
fn tell_choices(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(choice)) = members.get("x-kit-choice") {
                let choice = format!("*This kit's choice:* {choice}");
                let said = members.get("description").and_then(Value::as_str);
                let said = said.map_or(choice.clone(), |said| {
                    format!("{}\n\n{choice}", said.trim_end())
                });
                members.insert("description".to_owned(), said.into());
            }
            members.values_mut().for_each(tell_choices);
        }
        Value::Array(items) => items.iter_mut().for_each(tell_choices),
        _ => {}
    }
}

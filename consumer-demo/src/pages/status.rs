//! The page for a request that no handler answered.

use std::sync::Arc;

use askama::Template;
use askama_web::WebTemplate;
use rocket::http::Status;
use rocket::{Request, catch};

use crate::app::App;
use crate::browser::CurrentUser;

/// The page for an error status.
#[derive(Template, WebTemplate)]
#[template(path = "status.html")]
pub(crate) struct StatusPage {
    user: Option<CurrentUser>,
    code: u16,
    title: &'static str,
    explanation: &'static str,
    base_url: String,
}

/// Answers every request that was refused before a handler ran.
#[catch(default)]
pub(crate) fn catcher(status: Status, request: &Request<'_>) -> (Status, StatusPage) {
    let status = match status {
        // Rocket's status for `/login/unknown`: for us a path that doesn't exist.
        Status::UnprocessableEntity => Status::NotFound,
        status => status,
    };
    let (title, explanation) = match status.code {
        403 => (
            "This form came from another site",
            "Signing in and out works only from this application's own pages, at its own address.",
        ),
        404 => ("There is no such page", "The address may be mistyped."),
        405 => (
            "This page does not open like this",
            "Its address is not for typing or linking. Use the buttons on the home page.",
        ),
        413 => (
            "The request is too large",
            "It was larger than anything this application needs.",
        ),
        503 => (
            "Not loaded ahead of time",
            "Your browser asked for this page in advance. Visit it to load it.",
        ),
        500.. => ("Something broke", "The fault is ours. Please try again."),
        _ => ("That did not work", "The request made no sense here."),
    };
    let app: Option<&Arc<App>> = request.rocket().state();
    let page = StatusPage {
        user: None,
        code: status.code,
        title,
        explanation,
        // In full: a user who came by another name of this machine should leave it.
        base_url: app.map_or_else(String::new, |app| app.config.consumer_base_url.to_string()),
    };
    (status, page)
}

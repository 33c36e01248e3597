//! The redirects that browsers follow.

use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::{Request, Response};

/// A redirect that a browser follows with GET, whatever it sent before.
///
/// The address is written as it is: a registered callback must leave byte for
/// byte as it was registered.
#[derive(Debug)]
pub(crate) struct SeeOther(pub(crate) String);

impl<'r> Responder<'r, 'static> for SeeOther {
    fn respond_to(self, _: &'r Request<'_>) -> response::Result<'static> {
        Response::build()
            .status(Status::SeeOther)
            .raw_header("Location", self.0)
            .ok()
    }
}

//! The handle in the path of an authorization URL.

use std::convert::Infallible;

use rocket::request::FromParam;

use crate::model::login_session::Handle;

impl FromParam<'_> for Handle {
    type Error = Infallible;

    fn from_param(segment: &str) -> Result<Self, Infallible> {
        Ok(Handle::presented(segment))
    }
}

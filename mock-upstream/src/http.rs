//! HTTP, on wiremock: a request, a response, the server, and the transport in front of it.

mod request;
mod response;

mod faulty_response;
mod server;
mod transport;
mod whole_request;

pub(crate) use request::{Params, Request};
pub(crate) use response::{Delivery, Response};
pub(crate) use server::Server;

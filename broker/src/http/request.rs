//! The types that handlers take. Each guard reads headers or a body once, and returns a
//! type with a meaning or refuses with the rule that was broken.

pub(crate) mod authenticated;
pub(crate) mod bearer;
pub(crate) mod client_addr;
pub(crate) mod new_login;
pub(crate) mod preconditions;
pub(crate) mod query_params;
pub(crate) mod same_origin_post;
pub(crate) mod upstream_login_cookies;
pub(crate) mod visitor;
pub(crate) mod wrong_method;

mod browser_look;
mod cookies;
mod handle;

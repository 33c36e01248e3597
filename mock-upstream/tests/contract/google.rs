//! Google's endpoints.

mod authorize;
pub(crate) mod id_token;
pub(crate) mod keys;
mod token;
mod userinfo;

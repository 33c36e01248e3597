//! Google's endpoints.

mod authorize;
pub(crate) mod id_token;
pub(crate) mod keys;
mod token;
mod userinfo;

use mock_upstream::Provider;

const GOOGLE: Provider = Provider::Google;

//! GitHub's endpoints.

mod api;
mod authorize;
mod token;

use mock_upstream::Provider;

const GITHUB: Provider = Provider::GitHub;

//! GitHub's endpoints.

mod authorize;
mod token;

mod api;
mod emails;
mod user;

use mock_upstream::{Next, Provider, User};
use serde_json::Value;

use crate::test_mock::{TestMock, authorization, redemption};

const GITHUB: Provider = Provider::GitHub;

async fn token_with_scope(mock: &TestMock, scope: &str) -> String {
    let params = authorization(GITHUB).with("scope", scope);
    let code = mock.code_for(GITHUB, &params).await;
    mock.token(GITHUB, &redemption(&code))
        .await
        .text("access_token")
}

/// The JSON that `user` gets from the REST API.
async fn body_of(user: User, path: &str) -> Value {
    let mock = TestMock::new().await;
    mock.queue(GITHUB, Next::User(user));
    let token = mock.sign_in(GITHUB).await.text("access_token");
    mock.get_with_token(GITHUB, path, &token).await.json()
}

//! Several clients at one provider, and any client.

use mock_upstream::{Client, Clients, Provider};

use crate::test_mock::{CALLBACK, CLIENT_ID, TestMock, authorization, redemption};

const OTHER_CALLBACK: &str = "https://other.test/back";

async fn serving(clients: Clients) -> TestMock {
    TestMock::with(|settings| {
        settings.google.clients = clients.clone();
        settings.github.clients = clients;
    })
    .await
}

async fn two_clients() -> TestMock {
    let first = Client::new(CLIENT_ID, "mock-secret", [CALLBACK]).unwrap();
    let other = Client::new("other", "other-secret", [OTHER_CALLBACK]).unwrap();
    serving(Clients::Registered(vec![first, other])).await
}

#[tokio::test]
async fn each_client_signs_in_at_its_own_callback_with_its_own_secret() {
    let mock = two_clients().await;
    for provider in Provider::ALL {
        let params = authorization(provider)
            .with("client_id", "other")
            .with("redirect_uri", OTHER_CALLBACK);
        let code = mock.code_for(provider, &params).await;
        let form = redemption(&code)
            .with("client_id", "other")
            .with("client_secret", "other-secret")
            .with("redirect_uri", OTHER_CALLBACK);
        let token = mock.token(provider, &form).await;
        assert!(token.json()["access_token"].is_string(), "{}", token.body);
    }
}

#[tokio::test]
async fn an_id_token_and_the_info_of_an_access_token_name_the_client_that_asked() {
    let mock = two_clients().await;
    let google = Provider::Google;
    let params = authorization(google)
        .with("client_id", "other")
        .with("redirect_uri", OTHER_CALLBACK);
    let form = redemption(&mock.code_for(google, &params).await)
        .with("client_id", "other")
        .with("client_secret", "other-secret")
        .with("redirect_uri", OTHER_CALLBACK);
    let tokens = mock.token(google, &form).await;
    for name in ["id_token", "access_token"] {
        let url = mock.upstream(google).url();
        let info = format!("{url}/tokeninfo?{name}={}", tokens.text(name));
        assert_eq!(mock.get(&info).await.text("aud"), "other", "{name}");
    }
}

// RFC 6749, section 5.2: a code that was issued to another client is an invalid grant.
#[tokio::test]
async fn a_client_cannot_use_the_callback_or_the_code_of_another() {
    let mock = two_clients().await;
    let foreign = authorization(Provider::Google).with("redirect_uri", OTHER_CALLBACK);
    let refused = mock.authorize(Provider::Google, &foreign).await;
    refused.assert_page(400, "redirect_uri_mismatch");
    for (provider, error) in [
        (Provider::Google, "invalid_grant"),
        (Provider::GitHub, "bad_verification_code"),
    ] {
        let form = redemption(&mock.code(provider).await)
            .with("client_id", "other")
            .with("client_secret", "other-secret");
        assert_eq!(mock.token(provider, &form).await.text("error"), error);
    }
}

#[tokio::test]
async fn any_client_may_have_any_secret_and_any_callback_but_must_have_one() {
    let mock = serving(Clients::Any).await;
    for provider in Provider::ALL {
        let params = authorization(provider)
            .with("client_id", "never-seen")
            .with("redirect_uri", OTHER_CALLBACK);
        let response = mock.authorize(provider, &params).await;
        assert!(response.header("location").starts_with(OTHER_CALLBACK));
        let form = redemption(response.callback().get("code").unwrap())
            .with("client_id", "never-seen")
            .with("client_secret", "anything")
            .with("redirect_uri", OTHER_CALLBACK);
        let without = mock
            .token(provider, &form.clone().without("client_secret"))
            .await;
        assert!(without.json()["access_token"].is_null(), "{}", without.body);
        let token = mock.token(provider, &form).await;
        assert!(token.json()["access_token"].is_string(), "{}", token.body);
    }
}

#[tokio::test]
async fn where_any_callback_will_do_a_request_must_still_name_a_good_one() {
    let mock = serving(Clients::Any).await;
    let google = authorization(Provider::Google).with("redirect_uri", "javascript:alert(1)");
    let refused = mock.authorize(Provider::Google, &google).await;
    refused.assert_page(400, "redirect_uri_mismatch");
    let github = authorization(Provider::GitHub);
    for params in [
        github.clone().without("redirect_uri"),
        github.with("redirect_uri", "javascript:alert(1)"),
    ] {
        let refused = mock.authorize(Provider::GitHub, &params).await;
        refused.assert_page(400, "Add redirect_uri to the request");
    }
}

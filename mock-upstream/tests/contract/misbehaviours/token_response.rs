//! The responses of the token endpoint.

use mock_upstream::{Misbehaviour, Provider};
use serde_json::Value;

use super::{GITHUB, GOOGLE, token_response};

const JSON: &str = "application/json; charset=utf-8";

#[tokio::test]
async fn a_server_error_of_github_is_a_page_at_the_token_call() {
    let response = token_response(GITHUB, Misbehaviour::ServerError).await;
    response.assert_page(500, "500");
}

#[tokio::test]
async fn a_failure_of_the_provider_is_a_page_with_its_status() {
    token_response(GOOGLE, Misbehaviour::Token500)
        .await
        .assert_page(500, "500");
    for provider in Provider::ALL {
        token_response(provider, Misbehaviour::Token502)
            .await
            .assert_page(502, "502");
        token_response(provider, Misbehaviour::Token503)
            .await
            .assert_page(503, "503");
    }
}

#[tokio::test]
async fn googles_rate_limit_is_a_429_with_or_without_retry_after() {
    for (misbehaviour, wait) in [
        (Misbehaviour::RateLimited, ""),
        (Misbehaviour::RateLimitedRetryAfter, "60"),
    ] {
        let response = token_response(GOOGLE, misbehaviour).await;
        assert_eq!(response.status, 429);
        assert_eq!(response.header("content-type"), JSON);
        assert_eq!(response.header("retry-after"), wait);
    }
}

#[tokio::test]
async fn a_refused_code_has_each_providers_own_error() {
    let google = token_response(GOOGLE, Misbehaviour::TokenRefused).await;
    google.assert_error(400, "invalid_grant", "Bad Request");
    let github = token_response(GITHUB, Misbehaviour::TokenRefused).await;
    let description = "The code passed is incorrect or expired.";
    github.assert_error(200, "bad_verification_code", description);
}

// Google's list of errors; status and description are not confirmed.
#[tokio::test]
async fn a_deleted_client_is_googles_401() {
    let response = token_response(GOOGLE, Misbehaviour::DeletedClient).await;
    response.assert_error(401, "deleted_client", "The OAuth client was deleted.");
}

// "Troubleshooting OAuth app access token request errors".
#[tokio::test]
async fn an_unverified_address_is_githubs_error_with_status_200() {
    let response = token_response(GITHUB, Misbehaviour::UnverifiedUserEmail).await;
    let description = "The user must have a verified primary email.";
    response.assert_error(200, "unverified_user_email", description);
    assert!(
        response
            .text("error_uri")
            .ends_with("#unverified-user-email")
    );
}

#[tokio::test]
async fn garbage_is_a_200_with_the_first_half_of_json() {
    for provider in Provider::ALL {
        let response = token_response(provider, Misbehaviour::TokenGarbage).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), JSON);
        assert!(response.body.starts_with(r#"{"access_token":"#));
        assert!(serde_json::from_str::<Value>(&response.body).is_err());
    }
}

#[tokio::test]
async fn the_response_can_be_a_page() {
    for provider in Provider::ALL {
        let response = token_response(provider, Misbehaviour::TokenHtml).await;
        response.assert_page(200, "<!doctype html>");
    }
}

#[tokio::test]
async fn good_json_can_be_labelled_text() {
    for provider in Provider::ALL {
        let response = token_response(provider, Misbehaviour::TokenWrongType).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), "text/plain; charset=utf-8");
        assert!(response.json()["access_token"].is_string());
    }
}

#[tokio::test]
async fn the_response_can_be_empty() {
    for provider in Provider::ALL {
        for (misbehaviour, body) in [
            (Misbehaviour::TokenEmpty, ""),
            (Misbehaviour::TokenEmptyObject, "{}"),
        ] {
            let response = token_response(provider, misbehaviour).await;
            assert_eq!(response.status, 200);
            assert_eq!(response.header("content-type"), JSON);
            assert_eq!(response.body, body);
        }
    }
}

#[tokio::test]
async fn each_member_can_occur_twice_and_the_last_one_is_good() {
    for (provider, members) in [(GOOGLE, 5), (GITHUB, 3)] {
        let response = token_response(provider, Misbehaviour::TokenDuplicateKeys).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.body.matches(r#":"forged""#).count(), members);
        assert_eq!(response.body.matches(r#""access_token":"#).count(), 2);
        // serde_json reads the last one.
        assert_ne!(response.json()["access_token"], "forged");
    }
}

#[tokio::test]
async fn a_bomb_is_a_thousand_times_larger_than_it_looks() {
    for provider in Provider::ALL {
        let response = token_response(provider, Misbehaviour::TokenGzipBomb).await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), JSON);
        assert_eq!(response.header("content-encoding"), "gzip");
        let (magic, size) = (
            &response.bytes[..2],
            response.bytes.last_chunk::<4>().unwrap(),
        );
        assert_eq!(magic, [0x1F, 0x8B]);
        assert!(response.bytes.len() < 60_000);
        assert!(u32::from_le_bytes(*size) > 50 * 1024 * 1024);
    }
}

#[tokio::test]
async fn a_redirect_leads_to_another_host() {
    for provider in Provider::ALL {
        for (misbehaviour, status) in [
            (Misbehaviour::TokenRedirect302, 302),
            (Misbehaviour::TokenRedirect307, 307),
        ] {
            let response = token_response(provider, misbehaviour).await;
            assert_eq!(response.status, status);
            assert_eq!(
                response.header("location"),
                "https://elsewhere.invalid/token"
            );
        }
    }
}

//! What the token endpoint answers.

use mock_upstream::{Misbehaviour, Provider};
use serde_json::Value;

use super::{GITHUB, GOOGLE, token_answer};

const JSON: &str = "application/json; charset=utf-8";

#[tokio::test]
async fn github_fails_at_the_token_call_with_a_page() {
    let seen = token_answer(GITHUB, Misbehaviour::ServerError).await;
    seen.assert_page(500, "500");
}

#[tokio::test]
async fn trouble_of_the_providers_own_is_a_page_with_its_status() {
    token_answer(GOOGLE, Misbehaviour::Token500)
        .await
        .assert_page(500, "500");
    for provider in Provider::ALL {
        token_answer(provider, Misbehaviour::Token502)
            .await
            .assert_page(502, "502");
        token_answer(provider, Misbehaviour::Token503)
            .await
            .assert_page(503, "503");
    }
}

#[tokio::test]
async fn google_limits_the_rate_and_may_say_for_how_long() {
    for (misbehaviour, wait) in [
        (Misbehaviour::RateLimited, ""),
        (Misbehaviour::RateLimitedRetryAfter, "60"),
    ] {
        let seen = token_answer(GOOGLE, misbehaviour).await;
        assert_eq!(seen.status, 429);
        assert_eq!(seen.header("content-type"), JSON);
        assert_eq!(seen.header("retry-after"), wait);
    }
}

#[tokio::test]
async fn a_refused_code_is_refused_as_each_provider_does() {
    let google = token_answer(GOOGLE, Misbehaviour::TokenRefused).await;
    google.assert_error(400, "invalid_grant", "Bad Request");
    let github = token_answer(GITHUB, Misbehaviour::TokenRefused).await;
    let description = "The code passed is incorrect or expired.";
    github.assert_error(200, "bad_verification_code", description);
}

// Google's list of errors; status and description are not confirmed.
#[tokio::test]
async fn googles_client_was_deleted() {
    let seen = token_answer(GOOGLE, Misbehaviour::DeletedClient).await;
    seen.assert_error(401, "deleted_client", "The OAuth client was deleted.");
}

// "Troubleshooting OAuth app access token request errors".
#[tokio::test]
async fn githubs_person_has_no_verified_address() {
    let seen = token_answer(GITHUB, Misbehaviour::UnverifiedUserEmail).await;
    let description = "The user must have a verified primary email.";
    seen.assert_error(200, "unverified_user_email", description);
    assert!(seen.text("error_uri").ends_with("#unverified-user-email"));
}

#[tokio::test]
async fn garbage_is_a_200_with_the_first_half_of_json() {
    for provider in Provider::ALL {
        let seen = token_answer(provider, Misbehaviour::TokenGarbage).await;
        assert_eq!(seen.status, 200);
        assert_eq!(seen.header("content-type"), JSON);
        assert!(seen.body.starts_with(r#"{"access_token":"#));
        assert!(serde_json::from_str::<Value>(&seen.body).is_err());
    }
}

#[tokio::test]
async fn a_page_may_stand_where_json_should() {
    for provider in Provider::ALL {
        let seen = token_answer(provider, Misbehaviour::TokenHtml).await;
        seen.assert_page(200, "<!doctype html>");
    }
}

#[tokio::test]
async fn good_json_may_be_called_text() {
    for provider in Provider::ALL {
        let seen = token_answer(provider, Misbehaviour::TokenWrongType).await;
        assert_eq!(seen.status, 200);
        assert_eq!(seen.header("content-type"), "text/plain; charset=utf-8");
        assert!(seen.json()["access_token"].is_string());
    }
}

#[tokio::test]
async fn an_answer_may_say_nothing() {
    for provider in Provider::ALL {
        for (misbehaviour, body) in [
            (Misbehaviour::TokenEmpty, ""),
            (Misbehaviour::TokenEmptyObject, "{}"),
        ] {
            let seen = token_answer(provider, misbehaviour).await;
            assert_eq!(seen.status, 200);
            assert_eq!(seen.header("content-type"), JSON);
            assert_eq!(seen.body, body);
        }
    }
}

#[tokio::test]
async fn each_member_may_come_twice_and_the_last_one_is_good() {
    for (provider, members) in [(GOOGLE, 5), (GITHUB, 3)] {
        let seen = token_answer(provider, Misbehaviour::TokenDuplicateKeys).await;
        assert_eq!(seen.status, 200);
        assert_eq!(seen.body.matches(r#":"forged""#).count(), members);
        assert_eq!(seen.body.matches(r#""access_token":"#).count(), 2);
        // This reader takes the last.
        assert_ne!(seen.json()["access_token"], "forged");
    }
}

#[tokio::test]
async fn a_bomb_is_a_thousand_times_larger_than_it_looks() {
    for provider in Provider::ALL {
        let seen = token_answer(provider, Misbehaviour::TokenGzipBomb).await;
        assert_eq!(seen.status, 200);
        assert_eq!(seen.header("content-type"), JSON);
        assert_eq!(seen.header("content-encoding"), "gzip");
        let (magic, size) = (&seen.bytes[..2], seen.bytes.last_chunk::<4>().unwrap());
        assert_eq!(magic, [0x1F, 0x8B]);
        assert!(seen.bytes.len() < 60_000);
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
            let seen = token_answer(provider, misbehaviour).await;
            assert_eq!(seen.status, status);
            assert_eq!(seen.header("location"), "https://elsewhere.invalid/token");
        }
    }
}

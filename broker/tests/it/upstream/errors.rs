//! The error map, row by row: the failure, the error that the consumer reads, the entry
//! of the audit log, and the redirect of the browser to the consumer in both flows.

mod causes;

use std::collections::HashSet;

use broker::upstream::Failure;
use causes::{
    both, both_alike, callback, claim, disabled, discovery, github, github_at,
    github_with_an_untrusted_certificate, github_within_200_ms, google, header, id_token,
    no_longer_configured, with_too_many_calls, with_too_many_unknown_keys,
};
use serde_json::json;

use super::{DISCOVERY, EMAILS, KEYS, Reply, TOKEN, USER, token};

/// Each line is a row of the map, its error, the name of its test, and its cause.
macro_rules! rows {
    ($($failure:ident is $error:ident: $name:ident => $how:ident($($what:expr),*);)+) => {
        $(#[tokio::test]
        async fn $name() {
            assert_eq!(Failure::$failure.error().as_str(), stringify!($error));
            $how(Failure::$failure, $($what),*).await;
        })+

        /// `redirects_to` checks the rest: a 303 without a body, with all of our headers.
        // Threats: B9, B29, B30.
        #[test]
        fn every_row_of_the_error_map_has_a_test() {
            let tested = HashSet::from([$(Failure::$failure),+]);
            let rows: HashSet<_> = Failure::ALL.iter().copied().collect();
            assert_eq!(tested, rows);
        }
    };
}

rows! {
    // Threats: B9.
    Declined is access_denied: a_user_who_declines => callback("error=access_denied");
    CallbackServerError is provider_unavailable: a_server_error_in_the_callback => callback("error=server_error");
    CallbackServerError is provider_unavailable: a_provider_that_is_unavailable_for_a_time => callback("error=temporarily_unavailable");
    CallbackSuspended is provider_unavailable: a_suspended_application_in_the_callback => callback("error=application_suspended");
    CallbackError is invalid_provider_response: any_other_error_in_the_callback => callback("error=invalid_scope");
    CallbackIssuer is invalid_provider_response: another_issuers_callback => callback("code=a&iss=https://evil.test");
    CallbackCode is invalid_provider_response: a_callback_without_a_code => callback("x=y");

    NotConfigured is provider_unavailable: a_provider_that_is_no_longer_configured => no_longer_configured();
    Disabled is provider_unavailable: a_provider_that_is_disabled => disabled();
    OwnCredentials is provider_unavailable: wrong_client_credentials => both(
        TOKEN,
        Reply::of(401, JSON, r#"{"error":"invalid_client"}"#),
        Reply::of(200, JSON, r#"{"error":"incorrect_client_credentials"}"#)
    );

    TooManyCalls is provider_unavailable: too_many_calls_in_flight => with_too_many_calls();
    Timeout is provider_unavailable: a_provider_that_is_silent => github_within_200_ms(TOKEN, Reply::Silence);
    Unreachable is provider_unavailable: an_unreachable_provider => github_at("http://127.0.0.1:1".to_owned());
    // Threats: B12.
    Untrusted is provider_unavailable: a_provider_with_an_untrusted_certificate => github_with_an_untrusted_certificate();
    ConnectionBroken is provider_unavailable: a_provider_that_closes_the_connection => both_alike(TOKEN, Reply::Close);
    RateLimited is provider_unavailable: a_provider_that_limits_our_rate => both_alike(TOKEN, Reply::of(429, HTML, "slow down"));
    ServerError is provider_unavailable: a_provider_with_an_internal_error => both_alike(TOKEN, Reply::of(502, HTML, "<h1>Bad gateway</h1>"));

    Redirected is invalid_provider_response: a_redirect => both_alike(TOKEN, Reply::of(302, HTML, "").with("Location", "/"));
    Refused is invalid_provider_response: a_refusal_without_reason => both_alike(TOKEN, Reply::of(404, HTML, "not found"));
    TooLarge is invalid_provider_response: an_answer_of_300_kb => both_alike(TOKEN, Reply::of(200, JSON, " ".repeat(300 * 1024)));
    Encoded is invalid_provider_response: a_compressed_answer => both_alike(TOKEN, Reply::of(200, JSON, GZIP).with("Content-Encoding", "gzip"));
    NotJson is invalid_provider_response: an_answer_in_html => both_alike(TOKEN, Reply::of(200, HTML, "{}"));
    Malformed is invalid_provider_response: an_answer_that_is_cut_off => both_alike(TOKEN, Reply::of(200, JSON, r#"{"access_tok"#));

    CodeRefused is invalid_provider_response: a_code_that_is_refused => both(
        TOKEN,
        Reply::of(400, JSON, r#"{"error":"invalid_grant","error_description":"Bad Request"}"#),
        Reply::of(200, JSON, r#"{"error":"bad_verification_code"}"#)
    );
    TokenType is invalid_provider_response: a_token_of_another_type => github(
        TOKEN,
        Reply::of(200, JSON, r#"{"access_token":"a","token_type":"mac"}"#)
    );

    Document is provider_unavailable: discovery_in_html => google(DISCOVERY, Reply::of(200, HTML, "<p>Sign in to the network"));
    DocumentIssuer is provider_unavailable: discovery_of_another_issuer => discovery("issuer", "https://accounts.google.com");
    TooManySearches is provider_unavailable: too_many_unknown_keys => with_too_many_unknown_keys();
    DocumentHost is provider_unavailable: discovery_that_leads_elsewhere => discovery("token_endpoint", "http://127.0.0.1:1/token");

    IdTokenShape is invalid_provider_response: an_id_token_of_another_shape => id_token(|_, _| "a.b.c".to_owned());
    IdTokenAlgorithm is invalid_provider_response: an_id_token_of_another_algorithm => header(json!({ "alg": "RS512", "kid": "one" }));
    IdTokenExtension is invalid_provider_response: an_id_token_with_an_extension => header(
        json!({ "alg": "RS256", "kid": "one", "crit": ["exp"] })
    );
    // Threats: B17.
    IdTokenNoKey is invalid_provider_response: an_id_token_without_a_key => header(json!({ "alg": "RS256" }));
    IdTokenUnknownKey is invalid_provider_response: an_id_token_of_an_unknown_key => header(json!({ "alg": "RS256", "kid": "two" }));
    IdTokenSignature is invalid_provider_response: an_id_token_that_was_changed => id_token(|header, claims| {
        let (good, other) = (token(header, claims), token(header, &json!({})));
        let signature = other.rsplit('.').next().unwrap();
        format!("{}.{signature}", good.rsplit_once('.').unwrap().0)
    });
    IdTokenNonce is invalid_provider_response: another_logins_nonce => claim("nonce", json!("another"));
    IdTokenIssuer is invalid_provider_response: an_id_token_of_another_issuer => claim("iss", json!("https://evil.test"));
    IdTokenAudience is invalid_provider_response: an_id_token_for_another_client => claim("aud", json!("them"));
    IdTokenParty is invalid_provider_response: an_id_token_issued_to_another_party => claim("azp", json!("them"));
    IdTokenExpired is invalid_provider_response: an_id_token_that_has_expired => claim("exp", json!(1_000_000));
    IdTokenEarly is invalid_provider_response: an_id_token_from_the_future => claim("iat", json!(99_999_999_999_i64));
    IdTokenAccess is invalid_provider_response: an_id_token_of_another_access_token => claim("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA"));
    IdTokenSubject is invalid_provider_response: an_id_token_without_a_subject => claim("sub", json!(""));
}

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
/// `{}`, by gzip.
const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0";

/// The row does not depend on the call that failed.
#[tokio::test]
async fn b09_the_error_map_applies_to_every_call_of_a_login() {
    let html = |status| Reply::of(status, HTML, "");
    let limit = |body: &str| Reply::of(403, JSON, body);
    let secondary = r#"{"message":"You have exceeded a secondary rate limit. Please wait."}"#;
    for (failure, reply) in [
        (Failure::RateLimited, html(429)),
        (
            Failure::RateLimited,
            limit("{}").with("x-ratelimit-remaining", "0"),
        ),
        (Failure::RateLimited, limit("{}").with("retry-after", "60")),
        (Failure::RateLimited, limit(secondary)),
        (Failure::ServerError, html(500)),
        (Failure::ConnectionBroken, Reply::Close),
        (Failure::NotJson, html(200)),
        (Failure::Malformed, Reply::of(200, JSON, "")),
        (Failure::Refused, Reply::of(401, JSON, "{}")),
        (Failure::Refused, limit("{}")),
    ] {
        for path in [TOKEN, USER, EMAILS] {
            // Without permission to read addresses, the user signs in without one.
            if failure != Failure::Refused || path != EMAILS {
                github(failure, path, reply.clone()).await;
            }
        }
    }
    github(Failure::Refused, EMAILS, Reply::of(401, JSON, "{}")).await;
    for (failure, reply) in [
        (Failure::RateLimited, html(429)),
        (Failure::ServerError, html(503)),
        (Failure::ConnectionBroken, Reply::Close),
        (Failure::Document, html(200)),
        (Failure::Document, Reply::of(404, JSON, "{}")),
        (Failure::Document, html(302).with("Location", "/")),
        (
            Failure::Document,
            Reply::of(200, JSON, " ".repeat(300 * 1024)),
        ),
        (Failure::Document, Reply::of(200, JSON, "{}")),
    ] {
        for path in [DISCOVERY, KEYS] {
            google(failure, path, reply.clone()).await;
        }
    }
}

#[tokio::test]
async fn b14_an_error_inside_http_200_is_a_failure_in_any_form() {
    let errors = json!([
        "bad_verification_code",
        "invalid_grant",
        "an_error_of_tomorrow",
        "",
        1
    ]);
    for error in errors.as_array().unwrap() {
        // A token beside it changes nothing.
        let body = json!({ "error": error, "access_token": "a", "token_type": "bearer" });
        github(Failure::CodeRefused, TOKEN, Reply::json(&body)).await;
    }
    let media_type = "application/x-www-form-urlencoded; charset=utf-8";
    let form = "error=bad_verification_code&access_token=a&token_type=bearer";
    github(Failure::NotJson, TOKEN, Reply::of(200, media_type, form)).await;
    // A token that no header can carry, and parsers differ in which of two members they read.
    for access_token in ["", "a b", "a\r\nHost: evil.test", "ä", &"a".repeat(2049)] {
        let body = json!({ "access_token": access_token, "token_type": "bearer" });
        github(Failure::Malformed, TOKEN, Reply::json(&body)).await;
    }
    let twice = Reply::of(200, JSON, r#"{"id":1,"login":"ada","id":2}"#);
    github(Failure::Malformed, USER, twice).await;
}

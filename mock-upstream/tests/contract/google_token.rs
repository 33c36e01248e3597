//! Google's token and revocation endpoints.

use mock_upstream::Provider;
use reqwest::Method;

use crate::google_userinfo::userinfo;
use crate::world::{
    CLIENT_ID, CLIENT_SECRET, Params, SECOND_CALLBACK, Seen, World, authorization, redemption,
    without_pkce,
};

const GOOGLE: Provider = Provider::Google;

async fn check_refused(
    change: impl FnOnce(Params) -> Params,
    status: u16,
    error: &str,
    description: &str,
) {
    let world = World::new().await;
    let form = change(redemption(&world.code(GOOGLE).await));
    let seen = world.token(GOOGLE, &form).await;
    seen.assert_error(status, error, description);
}

// Fields: "OAuth 2.0 for Web Server Applications"; 3599: seen by clients.
#[tokio::test]
async fn a_token_answer_has_googles_fields_and_no_refresh_token() {
    let world = World::new().await;
    let answer = world.sign_in(GOOGLE).await;
    let body = answer.json();
    let mut members: Vec<_> = body.as_object().unwrap().keys().collect();
    members.sort();
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        "application/json; charset=utf-8"
    );
    assert!(answer.header("cache-control").contains("no-store"));
    let known = [
        "access_token",
        "expires_in",
        "id_token",
        "scope",
        "token_type",
    ];
    assert_eq!(members, known);
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["expires_in"], 3599);
    assert!(answer.text("access_token").starts_with("ya29."));
}

#[tokio::test]
async fn the_scope_of_a_token_is_long() {
    let world = World::new().await;
    let scope = "openid https://www.googleapis.com/auth/userinfo.email \
                 https://www.googleapis.com/auth/userinfo.profile";
    assert_eq!(world.sign_in(GOOGLE).await.text("scope"), scope);
}

#[tokio::test]
async fn without_openid_there_is_no_id_token() {
    let world = World::new().await;
    let params = authorization(GOOGLE).with("scope", "email");
    let code = world.code_for(GOOGLE, &params).await;
    let body = world.token(GOOGLE, &redemption(&code)).await.json();
    assert_eq!(body.get("id_token"), None);
}

// Client notes: a spent code is invalid_grant, "Bad Request".
#[tokio::test]
async fn a_code_is_spent_by_its_first_use() {
    let world = World::new().await;
    let form = redemption(&world.code(GOOGLE).await);
    assert_eq!(world.token(GOOGLE, &form).await.status, 200);
    let again = world.token(GOOGLE, &form).await;
    again.assert_error(400, "invalid_grant", "Bad Request");
}

#[tokio::test]
async fn of_sixteen_who_race_for_a_code_one_wins() {
    let world = World::new().await;
    let form = redemption(&world.code(GOOGLE).await);
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let request = world.request(Method::POST, &world.token_url(GOOGLE));
        racers.spawn(Seen::of(request.form(&form.0)));
    }
    let seen = racers.join_all().await;
    assert_eq!(seen.iter().filter(|seen| seen.status == 200).count(), 1);
}

// How long is not confirmed; the mock has a minute.
#[tokio::test]
async fn a_code_ends_after_a_minute() {
    let world = World::new().await;
    let in_time = redemption(&world.code(GOOGLE).await);
    let too_late = redemption(&world.code(GOOGLE).await);
    world.advance_ms(59_999);
    assert_eq!(world.token(GOOGLE, &in_time).await.status, 200);
    world.advance_ms(1);
    let seen = world.token(GOOGLE, &too_late).await;
    seen.assert_error(400, "invalid_grant", "Bad Request");
}

// googleworkspace/go-samples#85.
#[tokio::test]
async fn a_malformed_code_is_called_so() {
    let change = |form: Params| form.with("code", "4%2F0Aabc");
    check_refused(change, 400, "invalid_grant", "Malformed auth code.").await;
}

// google-api-php-client#2669.
#[tokio::test]
async fn a_missing_verifier_is_called_so() {
    let change = |form: Params| form.without("code_verifier");
    check_refused(change, 400, "invalid_grant", "Missing code verifier.").await;
}

// google-api-java-client#1479.
#[tokio::test]
async fn a_wrong_verifier_is_called_so_and_spends_the_code() {
    let world = World::new().await;
    let form = redemption(&world.code(GOOGLE).await);
    let wrong = form.clone().with("code_verifier", &"x".repeat(43));
    let seen = world.token(GOOGLE, &wrong).await;
    seen.assert_error(400, "invalid_grant", "Invalid code verifier.");
    assert_eq!(world.token(GOOGLE, &form).await.status, 400);
}

// oauth4webapi#119: Google does not let PKCE be stripped.
#[tokio::test]
async fn a_verifier_without_a_challenge_is_refused() {
    let world = World::new().await;
    let params = without_pkce(authorization(GOOGLE));
    let code = world.code_for(GOOGLE, &params).await;
    let seen = world.token(GOOGLE, &redemption(&code)).await;
    let description = "code_verifier or verifier is not needed.";
    seen.assert_error(400, "invalid_grant", description);
}

// The error was seen; its description is not confirmed.
#[tokio::test]
async fn another_redirect_uri_is_refused() {
    let change = |form: Params| form.with("redirect_uri", SECOND_CALLBACK);
    check_refused(change, 400, "redirect_uri_mismatch", "Bad Request").await;
}

// Client tests of several projects.
#[tokio::test]
async fn an_unknown_client_is_401() {
    let change = |form: Params| form.with("client_id", "nobody");
    let description = "The OAuth client was not found.";
    check_refused(change, 401, "invalid_client", description).await;
}

// A client's table of errors.
#[tokio::test]
async fn a_wrong_secret_is_401_and_leaves_the_code() {
    let world = World::new().await;
    let form = redemption(&world.code(GOOGLE).await);
    let wrong = form.clone().with("client_secret", "guess");
    let seen = world.token(GOOGLE, &wrong).await;
    seen.assert_error(401, "invalid_client", "Unauthorized");
    assert_eq!(world.token(GOOGLE, &form).await.status, 200);
}

#[tokio::test]
async fn another_grant_type_is_refused() {
    let change = |form: Params| form.with("grant_type", "password");
    check_refused(change, 400, "unsupported_grant_type", "Invalid grant_type").await;
}

// Discovery lists client_secret_basic.
#[tokio::test]
async fn a_client_may_authenticate_with_basic() {
    let world = World::new().await;
    let form = redemption(&world.code(GOOGLE).await)
        .without("client_id")
        .without("client_secret");
    let request = world.request(Method::POST, &world.token_url(GOOGLE));
    let request = request.basic_auth(CLIENT_ID, Some(CLIENT_SECRET));
    assert_eq!(Seen::of(request.form(&form.0)).await.status, 200);
}

// Which status Google has for it is not confirmed.
#[tokio::test]
async fn a_get_of_the_token_endpoint_is_refused_and_spends_nothing() {
    let world = World::new().await;
    let form = redemption(&world.code(GOOGLE).await);
    let url = format!("{}?{}", world.token_url(GOOGLE), form.encoded());
    assert_eq!(world.get(&url).await.status, 404);
    assert_eq!(world.token(GOOGLE, &form).await.status, 200);
}

#[tokio::test]
async fn a_body_that_is_no_form_is_refused() {
    let world = World::new().await;
    let code = world.code(GOOGLE).await;
    let request = world.request(Method::POST, &world.token_url(GOOGLE));
    let body = serde_json::json!({ "code": code, "client_id": CLIENT_ID });
    assert_eq!(Seen::of(request.json(&body)).await.status, 400);
}

#[tokio::test]
async fn a_revoked_token_opens_nothing() {
    let world = World::new().await;
    let token = world.sign_in(GOOGLE).await.text("access_token");
    let url = format!("{}/revoke", world.mock.google().url());
    let form = Params::of(&[("token", &token)]);
    assert_eq!(world.post(&url, &form).await.status, 200);
    assert_eq!(userinfo(&world, &token).await.status, 401);
    assert_eq!(world.post(&url, &form).await.status, 400);
}

async fn offline(world: &World) -> Option<String> {
    offline_with(world, authorization(GOOGLE)).await
}

/// The refresh token that the request's answer ends with.
async fn offline_with(world: &World, params: Params) -> Option<String> {
    let code = world
        .code_for(GOOGLE, &params.with("access_type", "offline"))
        .await;
    let body = world.token(GOOGLE, &redemption(&code)).await.json();
    Some(body.get("refresh_token")?.as_str()?.to_owned())
}

// "OAuth 2.0 for Web Server Applications": on the first exchange only; `1//…`.
#[tokio::test]
async fn a_refresh_token_comes_once_and_only_for_offline_access() {
    let world = World::new().await;
    let online = world.sign_in(GOOGLE).await.json();
    assert_eq!(online.get("refresh_token"), None);
    assert!(offline(&world).await.unwrap().starts_with("1//"));
    assert_eq!(offline(&world).await, None);
    world.mock.google().reset();
    assert!(offline(&world).await.is_some());
}

// googleapis advises a client that lost its own to send `prompt=consent`.
#[tokio::test]
async fn a_refresh_token_comes_each_time_that_consent_is_asked_for() {
    let world = World::new().await;
    let asking = authorization(GOOGLE).with("prompt", "consent");
    let first = offline_with(&world, asking.clone()).await.unwrap();
    let second = offline_with(&world, asking.clone()).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(offline(&world).await, None);

    let online = world.code_for(GOOGLE, &asking).await;
    let body = world.token(GOOGLE, &redemption(&online)).await.json();
    assert_eq!(body.get("refresh_token"), None);
}

// Older texts; not confirmed.
#[tokio::test]
async fn a_spent_code_may_be_described_in_older_words() {
    let older = "Code was already redeemed.";
    let world = World::with(|settings| settings.google.unconfirmed.google_spent_code = older).await;
    let form = redemption(&world.code(GOOGLE).await);
    world.token(GOOGLE, &form).await;
    let again = world.token(GOOGLE, &form).await;
    again.assert_error(400, "invalid_grant", older);
}

#[tokio::test]
async fn how_long_a_code_lives_can_be_chosen() {
    let world = World::with(|settings| {
        settings.google.unconfirmed.google_code_lifetime_seconds = 600;
    })
    .await;
    let form = redemption(&world.code(GOOGLE).await);
    world.advance_ms(599_999);
    assert_eq!(world.token(GOOGLE, &form).await.status, 200);
}

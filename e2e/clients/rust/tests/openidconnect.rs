//! openidconnect with the imitated Google, by its discovery document.

use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreErrorResponseType, CoreIdTokenClaims,
    CoreProviderMetadata, CoreRequestTokenError, CoreUserInfoClaims,
};
use openidconnect::reqwest::Error as HttpError;
use openidconnect::{
    AccessTokenHash, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    HttpClientError, IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge, RedirectUrl,
    RequestTokenError, Scope, TokenResponse,
};
use real_clients::{CLIENT_ID, CLIENT_SECRET, Stack};

/// The errors by which the library ends a sign-in.
#[derive(Debug)]
enum Failure {
    Token(CoreRequestTokenError<HttpClientError<HttpError>>),
    Claims(ClaimsVerificationError),
    /// The access token is not the one that the ID token came with.
    AccessToken,
}

/// A whole sign-in: the claims of the ID token and of userinfo.
fn sign_in(stack: &Stack) -> Result<(CoreIdTokenClaims, CoreUserInfoClaims), Failure> {
    let issuer = IssuerUrl::new(stack.google.clone()).expect("a URL");
    let metadata = CoreProviderMetadata::discover(&issuer, &stack.http).expect("discovery");
    let redirect_uri = RedirectUrl::new(stack.callback.clone()).expect("a URL");
    let client = CoreClient::from_provider_metadata(
        metadata,
        ClientId::new(CLIENT_ID.to_owned()),
        Some(ClientSecret::new(CLIENT_SECRET.to_owned())),
    )
    .set_redirect_uri(redirect_uri);

    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (url, state, nonce) = client
        .authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            CsrfToken::new_random,
            Nonce::new_random,
        )
        .add_scope(Scope::new("email".to_owned()))
        .add_scope(Scope::new("profile".to_owned()))
        .set_pkce_challenge(challenge)
        .url();
    let callback = stack.callback_of(url);
    let given = |name| {
        let mut pairs = callback.query_pairs();
        pairs
            .find(|(known, _)| known == name)
            .expect("it is there")
            .1
    };
    assert_eq!(given("state"), state.secret().as_str());

    let tokens = client
        .exchange_code(AuthorizationCode::new(given("code").into_owned()))
        .expect("discovery names the token endpoint")
        .set_pkce_verifier(verifier)
        .request(&stack.http)
        .map_err(Failure::Token)?;
    let id_token = tokens.id_token().expect("an ID token");
    let verifier = client.id_token_verifier();
    let claims = id_token
        .claims(&verifier, &nonce)
        .map_err(Failure::Claims)?;
    let actual = AccessTokenHash::from_token(
        tokens.access_token(),
        id_token.signing_alg().expect("a known algorithm"),
        id_token.signing_key(&verifier).expect("a known key"),
    );
    if claims.access_token_hash() != Some(&actual.expect("a hash")) {
        return Err(Failure::AccessToken);
    }
    let userinfo = client
        .user_info(
            tokens.access_token().clone(),
            Some(claims.subject().clone()),
        )
        .expect("discovery names the userinfo endpoint")
        .request(&stack.http)
        .expect("userinfo");
    Ok((claims.clone(), userinfo))
}

#[test]
fn google_signs_a_person_in() {
    let stack = Stack::start();
    let (claims, userinfo) = sign_in(&stack).expect("a sign-in");
    assert_eq!(claims.subject().as_str(), "100000000000000000001");
    assert_eq!(claims.email_verified(), Some(true));
    let name = userinfo.name().and_then(|name| name.get(None));
    assert_eq!(name.map(|name| name.as_str()), Some("Ada Lovelace"));
}

macro_rules! check_notices {
    ($misbehaviour:literal, $failure:pat) => {
        let stack = Stack::start();
        stack.goes_wrong($misbehaviour);
        let failed = sign_in(&stack).map(drop);
        assert!(matches!(failed, Err($failure)), "{failed:?}");
    };
}

#[test]
fn a_wrong_nonce_is_noticed() {
    check_notices!(
        "wrong_nonce",
        Failure::Claims(ClaimsVerificationError::InvalidNonce(_))
    );
}

#[test]
fn a_wrong_issuer_is_noticed() {
    check_notices!(
        "wrong_issuer",
        Failure::Claims(ClaimsVerificationError::InvalidIssuer(_))
    );
}

#[test]
fn a_wrong_audience_is_noticed() {
    check_notices!(
        "wrong_audience",
        Failure::Claims(ClaimsVerificationError::InvalidAudience(_))
    );
}

#[test]
fn a_forged_signature_is_noticed() {
    check_notices!(
        "bad_signature",
        Failure::Claims(ClaimsVerificationError::SignatureVerification(_))
    );
}

#[test]
fn an_expired_id_token_is_noticed() {
    check_notices!(
        "expired_id_token",
        Failure::Claims(ClaimsVerificationError::Expired(_))
    );
}

#[test]
fn an_access_token_of_another_sign_in_is_noticed() {
    check_notices!("wrong_at_hash", Failure::AccessToken);
}

#[test]
fn a_refused_code_is_noticed() {
    let stack = Stack::start();
    stack.goes_wrong("token_refused");
    let Err(Failure::Token(RequestTokenError::ServerResponse(answer))) = sign_in(&stack) else {
        panic!("the library read no error");
    };
    assert_eq!(answer.error(), &CoreErrorResponseType::InvalidGrant);
}

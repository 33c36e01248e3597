//! The profile of a user, made from the provider's data: each member is clean or null, and
//! odd data is no error. The unit tests of `upstream/normalize.rs` have the cases of each
//! member; here are those that depend on the provider.

use contract::Provider::{GitHub, Google};
use serde_json::{Value, json};

use super::{FakeProviders, adas_claims, token};
use crate::fake_provider::{EMAILS, Reply, USER, adas_github_user};
use crate::test_broker::with;

/// The profile that the code of a legacy login leads to.
async fn profile(providers: &FakeProviders, login: Result<String, String>) -> Value {
    let token = providers.broker.redeem(&login.unwrap()).await;
    providers.broker.profile(&token).await.json()
}

/// The profile if one claim of Google's ID token has this value.
async fn with_claim(providers: &FakeProviders, name: &str, value: &Value) -> Value {
    let login = providers.log_in_by(|login| {
        let claims = with(adas_claims(login), name, value.clone());
        token(&json!({ "alg": "RS256", "kid": "one" }), &claims)
    });
    profile(providers, login.await).await
}

async fn github_profile(providers: &FakeProviders) -> Value {
    profile(providers, providers.log_in(GitHub).await).await
}

fn user_with(name: &str, value: &Value) -> Reply {
    Reply::json(&with(adas_github_user(), name, value.clone()))
}

/// The profile if one member of GitHub's `/user` has this value.
async fn with_member(providers: &FakeProviders, name: &str, value: &Value) -> Value {
    providers.github.set_reply(USER, user_with(name, value));
    github_profile(providers).await
}

async fn with_emails(providers: &FakeProviders, emails: &Value) -> Value {
    providers.github.set_reply(EMAILS, Reply::json(emails));
    github_profile(providers).await
}

// Threats: B24, RAUTHY-007, CVE-2026-40574.
#[tokio::test]
async fn b25_a_name_a_picture_and_an_address_are_cleaned_or_null() {
    let providers = FakeProviders::start().await;
    let good = "https://cdn.example/a.png?size=96";
    let odd_name = "\u{202E}adA\u{2066}\r\n";
    let names = json!([[odd_name, "adA"], [42, null]]);
    let pictures = json!([[good, good], ["javascript:alert(1)", null], [7, null]]);
    let addresses = json!([["a@evil@corp.example", null], [1, null]]);
    for (provider, field, member, rows) in [
        (Google, "name", "name", &names),
        (Google, "picture", "avatarUrl", &pictures),
        (Google, "email", "email", &addresses),
        (GitHub, "name", "name", &names),
        (GitHub, "login", "username", &names),
        (GitHub, "avatar_url", "avatarUrl", &pictures),
    ] {
        for row in rows.as_array().unwrap() {
            let profile = match provider {
                Google => with_claim(&providers, field, &row[0]).await,
                GitHub => with_member(&providers, field, &row[0]).await,
            };
            assert_eq!(profile[member], row[1], "{field} {row}");
        }
    }
}

#[tokio::test]
async fn b23_an_address_is_verified_only_if_its_provider_says_so() {
    let providers = FakeProviders::start().await;
    let claims = json!([
        [true, true],
        ["true", true],
        [false, false],
        ["false", false],
        ["TRUE", false],
        [1, false],
        [[true], false],
        [null, false],
    ]);
    for row in claims.as_array().unwrap() {
        let profile = with_claim(&providers, "email_verified", &row[0]).await;
        assert_eq!(profile["email"], "ada@mail.example");
        assert_eq!(profile["emailVerified"], row[1], "{row}");
    }
    // The public address of a GitHub user is not verified.
    let public = user_with("email", &json!("public@mail.example"));
    providers.github.set_reply(USER, public);
    let entry = |name: &str, primary: bool, verified: bool| {
        let email = format!("{name}@x.example");
        json!({ "email": email, "primary": primary, "verified": verified })
    };
    let lists = json!([
        [[], null],
        [[entry("a", true, false)], null],
        [[entry("a", false, true)], null],
        [[entry("a@evil", true, true)], null],
        [[entry("a", true, false), entry("b", false, true)], null],
        [[null, 1, "a@x.example", {}, { "email": "a@x.example" }], null],
        [[{ "email": "a@x.example", "primary": "true", "verified": 1 }], null],
        [[1, entry("b", false, true), entry("a", true, true)], "a@x.example"],
    ]);
    for row in lists.as_array().unwrap() {
        let profile = with_emails(&providers, &row[0]).await;
        assert_eq!(profile["email"], row[1], "{row}");
        assert_eq!(profile["emailVerified"], !row[1].is_null(), "{row}");
    }
}

/// GitHub may grant fewer scopes than were requested.
#[tokio::test]
async fn b23_without_permission_to_read_addresses_the_user_signs_in_without_one() {
    let providers = FakeProviders::start().await;
    for status in [403, 404] {
        for body in [r#"{"message":"Not Found"}"#, "{}", "<h1>Not found</h1>"] {
            let reply = Reply::of(status, "application/json", body);
            providers.github.set_reply(EMAILS, reply);
            let profile = github_profile(&providers).await;
            assert_eq!(profile["email"], Value::Null, "{status} {body}");
            assert_eq!(profile["emailVerified"], false);
            assert_eq!(profile["name"], "Ada Lovelace");
        }
    }
}

// Threats: A40, CVE-2026-9087.
#[tokio::test]
async fn b22_a_subject_depends_on_the_providers_own_id_alone() {
    let providers = FakeProviders::start().await;
    let before = github_profile(&providers).await;
    let renamed = with_member(&providers, "login", &json!("lovelace")).await;
    assert_eq!(renamed["subject"], before["subject"]);
    assert_eq!(renamed["providerSubject"], "583231");
    let successor = with_member(&providers, "id", &json!(583_232)).await;
    assert_eq!(successor["username"], before["username"]);
    assert_ne!(successor["subject"], before["subject"]);
    let ada = with_claim(&providers, "email", &json!("new@mail.example")).await;
    let other = with_claim(&providers, "sub", &json!("583231")).await;
    assert_ne!(ada["subject"], other["subject"]);
    assert_ne!(
        other["subject"], before["subject"],
        "the same id at another provider"
    );
    for id in json!([null, "", "583231", -1, 1.5, 1e30, [1]])
        .as_array()
        .unwrap()
    {
        let user = user_with("id", id);
        let result = providers.log_in_with(GitHub, USER, &user).await;
        assert_eq!(result.unwrap_err(), "invalid_provider_response", "{id}");
    }
}

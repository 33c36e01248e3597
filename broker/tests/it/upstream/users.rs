//! The profile of a user, made from the provider's data: each member is clean or null, and
//! odd data is no error.

use contract::Provider::{GitHub, Google};
use serde_json::{Value, json};

use super::providers::{
    EMAILS, FakeProviders, Reply, USER, adas_claims, adas_github_user, failed_with,
};
use crate::test_broker::parameter;

/// The profile of a legacy login, which needs no fresh key.
async fn profile(providers: &FakeProviders, response: &str) -> Value {
    let code = parameter(response, "code").unwrap_or_else(|| panic!("{response}"));
    let answer = providers.broker.token(&code).await.json();
    let token = answer["access_token"].as_str().unwrap();
    providers.broker.profile(token).await.json()
}

/// The profile if one claim of Google's ID token has this value.
async fn profile_with_claim(providers: &FakeProviders, name: &str, value: &Value) -> Value {
    let login = providers.start_legacy_login(Google).await;
    let mut claims = adas_claims(&login);
    claims[name] = value.clone();
    login.google_returns_claims(claims);
    let response = login.return_with("code=a-code").await;
    profile(providers, response.location().unwrap()).await
}

async fn github_profile(providers: &FakeProviders) -> Value {
    let login = providers.start_legacy_login(GitHub).await;
    let response = login.return_with("code=a-code").await;
    profile(providers, response.location().unwrap()).await
}

/// The profile if one member of GitHub's `/user` has this value.
async fn profile_with_member(providers: &FakeProviders, name: &str, value: &Value) -> Value {
    let mut user = adas_github_user();
    user[name] = value.clone();
    providers.github.set_reply(USER, Reply::json(&user));
    github_profile(providers).await
}

async fn profile_with_emails(providers: &FakeProviders, emails: &Value) -> Value {
    providers.github.set_reply(EMAILS, Reply::json(emails));
    github_profile(providers).await
}

/// Values in place of a name, and the name in the profile.
fn names() -> Vec<(Value, Value)> {
    let long = "x".repeat(10_000);
    vec![
        (json!("Ada"), json!("Ada")),
        (json!("  שרה כהן "), json!("שרה כהן")),
        (json!("a\u{0}b\u{7}c\r\nd\u{7f}\u{85}"), json!("abcd")),
        (json!("\u{202E}adA\u{2066}\u{2069}"), json!("adA")),
        (json!("\u{202E}\u{200F}"), Value::Null),
        (json!(long), json!("x".repeat(256))),
        (json!("😀".repeat(300)), json!("😀".repeat(256))),
        (
            json!("<script>alert(1)</script>"),
            json!("<script>alert(1)</script>"),
        ),
        (json!(" "), Value::Null),
        (json!(""), Value::Null),
        (Value::Null, Value::Null),
        (json!(42), Value::Null),
        (json!(["Ada"]), Value::Null),
        (json!({ "first": "Ada" }), Value::Null),
        (json!(true), Value::Null),
    ]
}

#[tokio::test]
async fn b25_a_name_is_cleaned_and_shortened_or_null() {
    let providers = FakeProviders::start().await;
    for (raw, clean) in names() {
        assert_eq!(
            profile_with_claim(&providers, "name", &raw).await["name"],
            clean,
            "{raw}"
        );
        assert_eq!(
            profile_with_member(&providers, "name", &raw).await["name"],
            clean,
            "{raw}"
        );
        assert_eq!(
            profile_with_member(&providers, "login", &raw).await["username"],
            clean,
            "{raw}"
        );
    }
}

// Threats: RAUTHY-007.
#[tokio::test]
async fn b25_a_picture_is_an_https_address_or_null() {
    let providers = FakeProviders::start().await;
    let good = "https://cdn.example/a.png?size=96";
    for (raw, clean) in [
        (json!(good), json!(good)),
        (json!("http://cdn.example/a.png"), Value::Null),
        (json!("javascript:alert(1)"), Value::Null),
        (json!("java\nscript:alert(1)"), Value::Null),
        (
            json!("data:image/svg+xml,<svg onload=alert(1)>"),
            Value::Null,
        ),
        (json!("//cdn.example/a.png"), Value::Null),
        (json!("https://"), Value::Null),
        (
            json!(format!("https://cdn.example/{}", "a".repeat(2048))),
            Value::Null,
        ),
        (
            json!("https://cdn.example/\"><script>"),
            json!("https://cdn.example/%22%3E%3Cscript%3E"),
        ),
        (json!(7), Value::Null),
        (Value::Null, Value::Null),
    ] {
        assert_eq!(
            profile_with_claim(&providers, "picture", &raw).await["avatarUrl"],
            clean,
            "{raw}"
        );
        assert_eq!(
            profile_with_member(&providers, "avatar_url", &raw).await["avatarUrl"],
            clean,
            "{raw}"
        );
    }
}

// Threats: CVE-2026-40574.
#[tokio::test]
async fn b24_an_invalid_address_is_dropped() {
    let providers = FakeProviders::start().await;
    for raw in [
        json!("a@evil@corp.example"),
        json!("@corp.example"),
        json!("ada@"),
        json!("ada"),
        json!(""),
        json!("ada@corp.example\r\nBcc: eve@evil.test"),
        json!("\"ada\"@corp.example"),
        json!("Ada<ada@corp.example"),
        json!("ada\u{202E}@corp.example"),
        json!(format!("{}@corp.example", "a".repeat(10_000))),
        json!(1),
        json!(["ada@corp.example"]),
        Value::Null,
    ] {
        let email = json!([{ "email": raw, "primary": true, "verified": true }]);
        for profile in [
            profile_with_claim(&providers, "email", &raw).await,
            profile_with_emails(&providers, &email).await,
        ] {
            assert_eq!(profile["email"], Value::Null, "{raw}");
            assert_eq!(profile["emailVerified"], false, "{raw}");
        }
    }
}

#[tokio::test]
async fn b23_an_address_of_google_is_verified_only_if_google_says_so() {
    let providers = FakeProviders::start().await;
    for (claim, verified) in [
        (json!(true), true),
        (json!("true"), true),
        (json!(false), false),
        (json!("false"), false),
        (json!("TRUE"), false),
        (json!(1), false),
        (json!([true]), false),
        (Value::Null, false),
    ] {
        let profile = profile_with_claim(&providers, "email_verified", &claim).await;
        assert_eq!(profile["email"], "ada@mail.example");
        assert_eq!(profile["emailVerified"], verified, "{claim}");
    }
}

#[tokio::test]
async fn b23_of_github_only_a_verified_primary_address_counts() {
    let providers = FakeProviders::start().await;
    // The public address is not verified.
    let mut user = adas_github_user();
    user["email"] = "public@mail.example".into();
    providers.github.set_reply(USER, Reply::json(&user));
    let entry = |email: &str, primary: bool, verified: bool| json!({ "email": email, "primary": primary, "verified": verified });
    for emails in [
        json!([]),
        json!([entry("a@x.example", true, false)]),
        json!([entry("a@x.example", false, true)]),
        json!([
            entry("a@x.example", true, false),
            entry("b@x.example", false, true)
        ]),
        json!([null, 1, "a@x.example", {}, { "email": "a@x.example" }]),
        json!([{ "email": "a@x.example", "primary": "true", "verified": 1 }]),
    ] {
        let profile = profile_with_emails(&providers, &emails).await;
        assert_eq!(profile["email"], Value::Null, "{emails}");
        assert_eq!(profile["emailVerified"], false, "{emails}");
    }
    let emails = json!([
        1,
        entry("b@x.example", false, true),
        entry("a@x.example", true, true)
    ]);
    let profile = profile_with_emails(&providers, &emails).await;
    assert_eq!(profile["email"], "a@x.example");
    assert_eq!(profile["emailVerified"], true);
}

/// GitHub may grant fewer scopes than were requested.
#[tokio::test]
async fn b23_without_permission_to_read_addresses_the_user_signs_in_without_one() {
    let providers = FakeProviders::start().await;
    for status in [403, 404] {
        for body in [r#"{"message":"Not Found"}"#, "{}", "<h1>Not found</h1>"] {
            providers
                .github
                .set_reply(EMAILS, Reply::of(status, "application/json", body));
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
    let renamed = profile_with_member(&providers, "login", &json!("lovelace")).await;
    assert_eq!(renamed["subject"], before["subject"]);
    assert_eq!(renamed["providerSubject"], "583231");
    let successor = profile_with_member(&providers, "id", &json!(583_232)).await;
    assert_eq!(successor["username"], before["username"]);
    assert_ne!(successor["subject"], before["subject"]);
    let ada = profile_with_claim(&providers, "email", &json!("new@mail.example")).await;
    let other = profile_with_claim(&providers, "sub", &json!("583231")).await;
    assert_ne!(ada["subject"], other["subject"]);
    assert_ne!(
        other["subject"], before["subject"],
        "the same id at another provider"
    );
}

#[tokio::test]
async fn b22_a_user_without_a_valid_id_is_refused() {
    let providers = FakeProviders::start().await;
    for (key, id) in [
        Value::Null,
        json!(""),
        json!("583231"),
        json!(-1),
        json!(1.5),
        json!(1e30),
        json!([1]),
    ]
    .into_iter()
    .enumerate()
    {
        let mut user = adas_github_user();
        user["id"] = id.clone();
        providers.github.set_reply(USER, Reply::json(&user));
        let outcome = providers.sign_in(GitHub, key.try_into().unwrap()).await;
        assert_eq!(outcome, failed_with("invalid_provider_response"), "{id}");
    }
}

/// Parsers differ in which of two members of one name they read.
#[tokio::test]
async fn a_duplicate_member_is_refused() {
    let providers = FakeProviders::start().await;
    let twice = r#"{"id":1,"login":"ada","id":2}"#;
    providers
        .github
        .set_reply(USER, Reply::of(200, "application/json", twice));
    assert_eq!(
        providers.sign_in(GitHub, 1).await,
        failed_with("invalid_provider_response")
    );
}

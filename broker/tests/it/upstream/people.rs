//! From what a provider says about a person to a profile: clean or null, never an
//! error, whatever it says.

use contract::Provider::{GitHub, Google};
use serde_json::{Value, json};

use super::script::Reply;
use super::stage::{EMAILS, Stage, USER, ada_at_github, ada_of, is};
use crate::test_broker::parameter;

/// The profile of a legacy login, which needs no fresh key.
async fn profile(stage: &Stage, home: &str) -> Value {
    let code = parameter(home, "code").unwrap_or_else(|| panic!("{home}"));
    let answer = stage.world.token(&code).await.json();
    let token = answer["access_token"].as_str().unwrap();
    stage.world.profile(token).await.json()
}

/// Who it is if Google's ID token says this of one claim.
async fn google_says(stage: &Stage, name: &str, value: &Value) -> Value {
    let away = stage.depart_legacy(Google).await;
    let mut claims = ada_of(&away);
    claims[name] = value.clone();
    away.brings(claims);
    let home = away.back("code=a-code").await;
    profile(stage, home.location().unwrap()).await
}

async fn github_profile(stage: &Stage) -> Value {
    let away = stage.depart_legacy(GitHub).await;
    let home = away.back("code=a-code").await;
    profile(stage, home.location().unwrap()).await
}

/// Who it is if GitHub's `/user` says this of one member.
async fn github_says(stage: &Stage, name: &str, value: &Value) -> Value {
    let mut user = ada_at_github();
    user[name] = value.clone();
    stage.github.replies(USER, Reply::json(&user));
    github_profile(stage).await
}

async fn github_emails(stage: &Stage, emails: &Value) -> Value {
    stage.github.replies(EMAILS, Reply::json(emails));
    github_profile(stage).await
}

/// What may stand where a name should, and what becomes of it.
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
async fn b25_a_name_is_clean_and_short_or_null() {
    let stage = Stage::start().await;
    for (raw, clean) in names() {
        assert_eq!(
            google_says(&stage, "name", &raw).await["name"],
            clean,
            "{raw}"
        );
        assert_eq!(
            github_says(&stage, "name", &raw).await["name"],
            clean,
            "{raw}"
        );
        assert_eq!(
            github_says(&stage, "login", &raw).await["username"],
            clean,
            "{raw}"
        );
    }
}

#[tokio::test]
async fn b25_a_picture_is_an_https_address_or_null() {
    let stage = Stage::start().await;
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
            google_says(&stage, "picture", &raw).await["avatarUrl"],
            clean,
            "{raw}"
        );
        assert_eq!(
            github_says(&stage, "avatar_url", &raw).await["avatarUrl"],
            clean,
            "{raw}"
        );
    }
}

#[tokio::test]
async fn b24_an_address_is_sane_before_it_is_called_verified() {
    let stage = Stage::start().await;
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
            google_says(&stage, "email", &raw).await,
            github_emails(&stage, &email).await,
        ] {
            assert_eq!(profile["email"], Value::Null, "{raw}");
            assert_eq!(profile["emailVerified"], false, "{raw}");
        }
    }
}

#[tokio::test]
async fn b23_google_itself_must_say_that_an_address_is_verified() {
    let stage = Stage::start().await;
    for (said, verified) in [
        (json!(true), true),
        (json!("true"), true),
        (json!(false), false),
        (json!("false"), false),
        (json!("TRUE"), false),
        (json!(1), false),
        (json!([true]), false),
        (Value::Null, false),
    ] {
        let profile = google_says(&stage, "email_verified", &said).await;
        assert_eq!(profile["email"], "ada@mail.example");
        assert_eq!(profile["emailVerified"], verified, "{said}");
    }
}

#[tokio::test]
async fn b23_of_github_only_the_primary_address_counts_and_only_verified() {
    let stage = Stage::start().await;
    // The public one proves nothing.
    let mut user = ada_at_github();
    user["email"] = "public@mail.example".into();
    stage.github.replies(USER, Reply::json(&user));
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
        let profile = github_emails(&stage, &emails).await;
        assert_eq!(profile["email"], Value::Null, "{emails}");
        assert_eq!(profile["emailVerified"], false, "{emails}");
    }
    let emails = json!([
        1,
        entry("b@x.example", false, true),
        entry("a@x.example", true, true)
    ]);
    let profile = github_emails(&stage, &emails).await;
    assert_eq!(profile["email"], "a@x.example");
    assert_eq!(profile["emailVerified"], true);
}

/// GitHub may grant fewer scopes than it was asked for.
#[tokio::test]
async fn b23_without_permission_to_read_addresses_there_is_none_and_the_user_signs_in() {
    let stage = Stage::start().await;
    for status in [403, 404] {
        for body in [r#"{"message":"Not Found"}"#, "{}", "<h1>Not found</h1>"] {
            stage
                .github
                .replies(EMAILS, Reply::of(status, "application/json", body));
            let profile = github_profile(&stage).await;
            assert_eq!(profile["email"], Value::Null, "{status} {body}");
            assert_eq!(profile["emailVerified"], false);
            assert_eq!(profile["name"], "Ada Lovelace");
        }
    }
}

#[tokio::test]
async fn b22_an_account_is_a_providers_own_id_and_nothing_that_may_change() {
    let stage = Stage::start().await;
    let before = github_profile(&stage).await;
    let renamed = github_says(&stage, "login", &json!("lovelace")).await;
    assert_eq!(renamed["subject"], before["subject"]);
    assert_eq!(renamed["providerSubject"], "583231");
    let successor = github_says(&stage, "id", &json!(583_232)).await;
    assert_eq!(successor["username"], before["username"]);
    assert_ne!(successor["subject"], before["subject"]);
    let ada = google_says(&stage, "email", &json!("new@mail.example")).await;
    let other = google_says(&stage, "sub", &json!("583231")).await;
    assert_ne!(ada["subject"], other["subject"]);
    assert_ne!(
        other["subject"], before["subject"],
        "the same id at another provider"
    );
}

#[tokio::test]
async fn b22_an_id_that_is_none_is_nobody() {
    let stage = Stage::start().await;
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
        let mut user = ada_at_github();
        user["id"] = id.clone();
        stage.github.replies(USER, Reply::json(&user));
        let outcome = stage.sign_in(GitHub, key.try_into().unwrap()).await;
        assert_eq!(outcome, is("invalid_provider_response"), "{id}");
    }
}

/// A member that comes twice could be read differently by whoever reads it next.
#[tokio::test]
async fn a_member_that_comes_twice_is_refused() {
    let stage = Stage::start().await;
    let twice = r#"{"id":1,"login":"ada","id":2}"#;
    stage
        .github
        .replies(USER, Reply::of(200, "application/json", twice));
    assert_eq!(
        stage.sign_in(GitHub, 1).await,
        is("invalid_provider_response")
    );
}

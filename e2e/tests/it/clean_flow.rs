//! The clean flow, from the backend's first call to the profile.

use mock_upstream::User;
use mock_upstream::users::seed_users;
use serde_json::{Value, json};

use crate::login::{Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::browser::Browser;
use testkit::fresh;
use testkit::http::PENDING;

#[tokio::test]
async fn a_login_goes_from_session_to_profile_and_leaves_nothing_behind() {
    for provider in PROVIDERS {
        let stack = TestStack::start().await;
        let backend = &stack.backend;
        let session_key = fresh::secret();

        let response = backend.start_with_key(&session_key, provider).await;
        let mut session = response.json();
        let url = session["authorization_url"].take();
        let url = url.as_str().expect("a URL");
        assert_eq!(response.status, 200);
        assert_eq!(
            session,
            json!({ "authorization_url": null, "expires_in": 600 })
        );
        assert!(url.starts_with(&format!("{}/login/", stack.broker())));
        assert!(!url.contains(['?', '#', '@']), "{url}");

        backend.result(&session_key).await.is(200, PENDING);
        let end = Browser::new().follow(url).await;
        assert_eq!(end.url, backend.callback);

        let response = backend.result(&session_key).await;
        assert_eq!(response.status, 200);
        assert_eq!(
            response.json(),
            json!({ "status": "succeeded", "profile": ada(provider) })
        );
        backend.result(&session_key).await.is_refusal(400);
    }
}

#[tokio::test]
async fn the_responses_of_the_api_are_json_with_no_store() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    for response in [
        stack.backend.start_with_key(&fresh::secret(), GOOGLE).await,
        stack.backend.result(&login.session_key).await,
        stack.backend.result(&login.session_key).await,
    ] {
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.header("access-control-allow-origin"), None);
        assert_eq!(response.header("x-request-id").map(str::len), Some(16));
    }
}

#[tokio::test]
async fn every_seed_user_becomes_the_profile_that_the_contract_promises() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        for someone in seed_users() {
            let user = someone.at(provider.parse().expect("one of the two"));
            stack.queue_user(provider, user);
            let profile = stack.sign_in(Flow::Clean, provider).await.profile();
            assert_eq!(profile, expected(provider, user), "{}", someone.reason);
        }
    }
}

#[tokio::test]
async fn what_a_provider_does_not_say_is_null() {
    check_null(GOOGLE, "grace", "name").await;
    check_null(GITHUB, "grace", "name").await;
    check_null(GOOGLE, "hedy", "email").await;
    check_null(GOOGLE, "ada", "username").await;
    check_null(GITHUB, "alan", "email").await;
}

async fn check_null(provider: &str, key: &str, field: &str) {
    let profile = profile_of(&TestStack::start().await, provider, key).await;
    assert_eq!(profile[field], Value::Null, "{provider} {key} {field}");
}

#[tokio::test]
async fn an_email_address_is_verified_only_if_the_provider_says_so() {
    let stack = TestStack::start().await;
    let verified = profile_of(&stack, GOOGLE, "ada").await;
    assert_eq!(verified["email"], "ada@people.example");
    assert_eq!(verified["emailVerified"], true);

    let unverified = profile_of(&stack, GOOGLE, "alan").await;
    assert_eq!(unverified["email"], "alan@people.example");
    assert_eq!(unverified["emailVerified"], false);

    // GitHub's private address is listed among the user's own, verified.
    let private = profile_of(&stack, GITHUB, "hedy").await;
    assert_eq!(private["email"], "hedy@people.example");
    assert_eq!(private["emailVerified"], true);
}

#[tokio::test]
async fn a_name_keeps_its_emoji_and_its_direction_byte_for_byte() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        assert_eq!(
            profile_of(&stack, provider, "zoe").await["name"],
            "Zoë 👩🏽‍🚀 Stern"
        );
        assert_eq!(
            profile_of(&stack, provider, "musa").await["name"],
            "محمد بن موسى الخوارزمي"
        );
    }
}

#[tokio::test]
async fn two_users_with_one_email_address_are_two_subjects() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let emmy = profile_of(&stack, provider, "emmy").await;
        let david = profile_of(&stack, provider, "david").await;
        assert_eq!(emmy["email"], "algebra@goettingen.example");
        assert_eq!(emmy["email"], david["email"]);
        assert_ne!(emmy["subject"], david["subject"]);
    }
}

#[tokio::test]
async fn the_same_account_is_the_same_subject_again_even_in_another_project() {
    let stack = TestStack::start().await;
    let other = stack.other_project("Another app").await;
    for provider in PROVIDERS {
        let first = stack.sign_in(Flow::Clean, provider).await.profile();
        let login = other.start_login(provider).await;
        Browser::new().follow(&login.authorization_url).await;
        let second = other.result(&login.session_key).await.json();
        assert_eq!(first, second["profile"]);
    }
}

#[tokio::test]
async fn the_same_id_at_two_providers_is_two_subjects() {
    let stack = TestStack::start().await;
    let user = User {
        id: "4711".to_owned(),
        ..User::default()
    };
    let mut subjects = Vec::new();
    for provider in PROVIDERS {
        stack.queue_user(provider, &user);
        let profile = stack.sign_in(Flow::Clean, provider).await.profile();
        assert_eq!(profile["providerSubject"], "4711");
        subjects.push(profile["subject"].clone());
    }
    assert_ne!(subjects[0], subjects[1]);
}

#[tokio::test]
async fn the_callback_carries_nothing_even_if_the_browser_came_with_a_fragment() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let login = stack.backend.start_login(provider).await;
        let browser = Browser::new();
        let end = browser
            .follow(&format!("{}#x", login.authorization_url))
            .await;
        assert_eq!(end.url, stack.backend.callback);

        let redirect = browser.last_step_to(&login.authorization_url).response;
        assert_eq!(redirect.status, 303);
        let to_provider = redirect.location().expect("the provider");
        assert!(to_provider.ends_with('#'), "{to_provider}");
    }
}

#[tokio::test]
async fn the_authorization_request_has_the_least_scope_and_asks_for_account_selection() {
    let stack = TestStack::start().await;
    for (provider, scope) in [
        (GOOGLE, "openid+email+profile"),
        (GITHUB, "read%3Auser+user%3Aemail"),
    ] {
        let login = stack.backend.start_login(provider).await;
        let redirect = Browser::new().open(&login.authorization_url).await;
        let to_provider = redirect.location().expect("the provider");
        assert!(to_provider.starts_with(stack.provider(provider).url()));
        for parameter in [
            &format!("scope={scope}"),
            "prompt=select_account",
            "code_challenge_method=S256",
        ] {
            assert!(
                to_provider.contains(parameter),
                "{parameter} in {to_provider}"
            );
        }
    }
}

#[tokio::test]
async fn the_list_of_providers_is_public() {
    let stack = TestStack::start().await;
    stack.backend.providers().await.is(
        200,
        r#"[{"id":"google","configured":true,"enabled":true,"available":true},{"id":"github","configured":true,"enabled":true,"available":true}]"#,
    );
}

/// The profile of the seed user `key`, by a whole login.
pub(crate) async fn profile_of(stack: &TestStack, provider: &str, key: &str) -> Value {
    stack.queue_user(provider, &user(provider, key));
    stack.sign_in(Flow::Clean, provider).await.profile()
}

fn user(provider: &str, key: &str) -> User {
    let everybody = seed_users();
    let someone = everybody.iter().find(|someone| someone.key == key);
    let provider = provider.parse().expect("one of the two");
    someone.expect("a seed user").at(provider).clone()
}

/// The default user's profile as JSON.
pub(crate) fn ada(provider: &str) -> Value {
    match provider {
        GOOGLE => json!({
            "subject": "sub_ZDuhgLCGiNchgXbC_v2syK7V-JTqS2-R0Dt7SrgwQS8",
            "provider": "google",
            "providerSubject": "100000000000000000001",
            "name": "Ada Lovelace",
            "username": null,
            "email": "ada@people.example",
            "emailVerified": true,
            "avatarUrl": "https://pictures.example/google/ada=s96-c",
        }),
        _ => json!({
            "subject": "sub_Uq0BrJEb22J-8-vCXv0Hpeay5j3cWxVLGWX0UDWiF14",
            "provider": "github",
            "providerSubject": "9000001",
            "name": "Ada Lovelace",
            "username": "ada-mock",
            "email": "ada@people.example",
            "emailVerified": true,
            "avatarUrl": "https://pictures.example/github/ada?v=4",
        }),
    }
}

/// The profile of `person` by the design and the providers' documents.
fn expected(provider: &str, user: &User) -> Value {
    let is_google = provider == GOOGLE;
    // GitHub proves an address by having verified it, or it shows none.
    let email = user
        .email
        .as_ref()
        .filter(|_| is_google || user.email_verified);
    json!({
        "subject": fresh::subject(provider, &user.id),
        "provider": provider,
        "providerSubject": user.id,
        "name": user.name,
        "username": if is_google { None } else { user.username.as_ref() },
        "email": email,
        "emailVerified": email.is_some() && user.email_verified,
        "avatarUrl": user.picture,
    })
}

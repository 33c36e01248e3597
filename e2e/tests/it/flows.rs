//! Both flows, from the backend's first call to the profile.

use mock_upstream::User;
use mock_upstream::users::seed_users;
use serde_json::{Value, json};
use testkit::browser::Browser;
use testkit::fresh;
use testkit::http::{PENDING, UNRECOGNISED};

use crate::login::{FLOWS, GOOGLE, PROVIDERS, callback_code};
use crate::test_stack::TestStack;

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
async fn a_login_goes_from_the_consumers_url_to_profile_and_revocation() {
    for provider in PROVIDERS {
        let stack = TestStack::start().await;
        let backend = &stack.backend;
        let transaction = backend.start_authorization(provider);

        let end = Browser::new().follow(&transaction.url).await;
        let code = callback_code(backend, &transaction, &end.url);
        assert_eq!(code.len(), 43);

        let mut response = backend.redeem(&transaction, &code).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let mut answer = response.json();
        let token = answer["access_token"].take();
        let token = token.as_str().expect("a token");
        assert_eq!(token.len(), "fsi_".len() + 43);
        assert!(token.starts_with("fsi_"));
        assert_eq!(
            answer,
            json!({ "access_token": null, "token_type": "Bearer", "expires_in": 900, "scope": "profile" })
        );

        response = backend.profile(token).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json(), ada(provider));
        backend.revoke(token).await.is(200, "{}");
        backend.profile(token).await.is(401, UNRECOGNISED);
    }
}

#[tokio::test]
async fn every_seed_user_becomes_the_profile_that_the_contract_promises() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        for someone in seed_users() {
            let user = someone.at(provider.parse().expect("one of the two"));
            let user = user.expect("an account at both");
            for flow in FLOWS {
                stack.queue_user(provider, user);
                let profile = stack.sign_in(flow, provider).await.profile();
                assert_eq!(profile, expected(provider, user), "{}", someone.reason);
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_is_no_browser_can_complete_a_login_too() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let started = flow.start(&stack.backend, provider).await;
            let end = Browser::plain().follow(started.url()).await;
            started
                .outcome(&stack.backend, &end.url)
                .await
                .is_ada(provider);
        }
    }
}

// Threats: A29.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_back_at_the_consumer_only_after_the_login_has_its_outcome() {
    let stack = TestStack::start().await;
    for round in 0..200 {
        let provider = PROVIDERS[round % 2];
        let login = stack.completed_login(provider).await;
        let response = stack.backend.result(&login.session_key).await;
        assert_eq!(response.json()["status"], "succeeded", "round {round}");
    }
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

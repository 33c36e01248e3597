//! The sign-in page.

use mock_upstream::misbehaviour::Group;
use mock_upstream::users::seed_users;
use mock_upstream::{Client, Misbehaviour, Mode, Provider};

use crate::test_mock::{CALLBACK, Params, Response, TestMock, authorization, redemption};

async fn interactive() -> TestMock {
    TestMock::with(|settings| {
        settings.google.mode = Mode::Interactive;
        settings.github.mode = Mode::Interactive;
    })
    .await
}

async fn page(mock: &TestMock, provider: Provider) -> Response {
    mock.authorize(provider, &authorization(provider)).await
}

/// The handle in the page's forms.
fn handle(page: &Response) -> String {
    let (_, rest) = page.body.split_once(r#"name="request" value=""#).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

async fn choose(
    mock: &TestMock,
    provider: Provider,
    handle: &str,
    pairs: &[(&str, &str)],
) -> Response {
    let url = format!("{}/mock/sign-in", mock.upstream(provider).url());
    let form = Params::of(pairs).and("request", handle);
    mock.post(&url, &form).await
}

/// More pages than the mock keeps.
const LONG_STATES: usize = 200;

#[tokio::test]
async fn g7_pages_that_wait_for_a_choice_hold_a_bounded_number_of_bytes() {
    const MAX_BYTES: usize = 9 * 1024 * 1024;
    let mock = interactive().await;
    let state = "a".repeat(60_000);
    for provider in Provider::ALL {
        let long = authorization(provider).with("state", &state);
        for _ in 0..LONG_STATES {
            let response = mock.authorize(provider, &long).await;
            assert_eq!(response.status, 200);
        }
        let held = mock.upstream(provider).bytes_held();
        assert!((1_000_000..MAX_BYTES).contains(&held), "{held} bytes");
        // The newest page works.
        let handle = handle(&page(&mock, provider).await);
        let chosen = choose(&mock, provider, &handle, &[("person", "ada")]).await;
        assert_eq!(chosen.status, 303);
        mock.upstream(provider).reset();
        assert_eq!(mock.upstream(provider).bytes_held(), 0);
    }
}

#[tokio::test]
async fn g7_the_journal_cuts_a_long_query() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let long = authorization(provider).with("x", &"a".repeat(60_000));
        mock.authorize(provider, &long).await;
        let last = mock.upstream(provider).journal().pop().unwrap();
        assert!(last.query.len() < 5_000, "{} bytes", last.query.len());
        assert!(last.query.ends_with('…'), "{}", last.query);
    }
}

#[tokio::test]
async fn the_page_says_that_it_is_not_the_real_provider() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        response.assert_page(200, &format!("MOCK — not the real {provider}"));
    }
}

#[tokio::test]
async fn every_seed_user_has_a_button_and_a_reason() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        for known in seed_users() {
            assert!(
                response
                    .body
                    .contains(&format!(r#"data-person="{}""#, known.key))
            );
            assert!(response.body.contains(known.reason));
        }
    }
}

#[tokio::test]
async fn the_page_has_a_button_for_exactly_the_providers_misbehaviours() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        let everything = Provider::ALL.into_iter().flat_map(Misbehaviour::of);
        for known in everything {
            let shown = response
                .body
                .contains(&format!(r#"data-misbehave="{}""#, known.name()));
            assert_eq!(shown, Misbehaviour::of(provider).contains(known));
        }
    }
}

#[tokio::test]
async fn each_misbehaviour_is_under_the_heading_of_its_group() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        let shown = response.body.split("<h3>").skip(1).map(|rest| {
            let (title, buttons) = rest.split_once("</h3>").unwrap();
            (title.to_owned(), buttons.matches("data-misbehave").count())
        });
        let expected = Group::ALL.iter().map(|&group| {
            let of_group = |known: &&Misbehaviour| known.group() == group;
            let count = Misbehaviour::of(provider).iter().filter(of_group).count();
            (group.title().to_owned(), count)
        });
        let expected = expected.filter(|(_, count)| *count > 0);
        assert_eq!(shown.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn the_page_needs_no_script_and_no_foreign_resource() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        for foreign in ["<script", "src=", "url(", "@import", "<link"] {
            assert!(!response.body.contains(foreign), "{foreign}");
        }
    }
}

// A browser applies form-action to the redirects after a form, too.
#[tokio::test]
async fn no_form_action_blocks_the_redirects() {
    let mock = interactive().await;
    let response = page(&mock, Provider::Google).await;
    let policy = response.header("content-security-policy");
    assert!(policy.contains("default-src 'none'"));
    assert!(!policy.contains("form-action"));
}

#[tokio::test]
async fn a_chosen_user_gets_a_303_with_a_code_that_works() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let handle = handle(&page(&mock, provider).await);
        let response = choose(&mock, provider, &handle, &[("person", "musa")]).await;
        assert_eq!(response.status, 303);
        assert!(response.header("location").starts_with(CALLBACK));
        let code = response.callback().get("code").unwrap().to_owned();
        let answer = mock.token(provider, &redemption(&code)).await;
        assert!(answer.json()["access_token"].is_string());
    }
}

// Response in server logs: `prompt` echoes what Google did.
#[tokio::test]
async fn google_repeats_the_consent_given_on_the_page() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::Google).await);
    let response = choose(&mock, Provider::Google, &handle, &[("person", "ada")]).await;
    assert_eq!(response.callback().get("prompt"), Some("consent"));
}

#[tokio::test]
async fn cancelling_is_access_denied() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        assert!(
            response
                .body
                .contains(r#"<button id="cancel" name="misbehave" value="deny">"#)
        );
        let response = choose(
            &mock,
            provider,
            &handle(&response),
            &[("misbehave", "deny")],
        )
        .await;
        assert_eq!(response.status, 303);
        assert_eq!(response.callback().get("error"), Some("access_denied"));
    }
}

#[tokio::test]
async fn any_other_user_can_sign_in_by_the_form() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::GitHub).await);
    let fields = [
        ("person", "other"),
        ("id", "77"),
        ("username", "someone"),
        ("email", "someone@people.example"),
        ("email_verified", "true"),
        ("email_private", "true"),
    ];
    let response = choose(&mock, Provider::GitHub, &handle, &fields).await;
    let code = response.callback().get("code").unwrap().to_owned();
    let token = mock
        .token(Provider::GitHub, &redemption(&code))
        .await
        .text("access_token");
    let response = mock.get_with_token(Provider::GitHub, "/user", &token);
    let body = response.await.json();
    assert_eq!(body["id"], 77);
    assert_eq!(body["login"], "someone");
    assert_eq!(body["email"], serde_json::Value::Null);
}

#[tokio::test]
async fn only_github_asks_whether_the_address_is_private() {
    let mock = interactive().await;
    for (provider, has_field) in [(Provider::Google, false), (Provider::GitHub, true)] {
        let response = page(&mock, provider).await;
        let field = r#"name="email_private""#;
        assert_eq!(response.body.contains(field), has_field, "{provider}");
    }
}

#[tokio::test]
async fn an_invalid_choice_shows_the_page_again_and_keeps_the_sign_in() {
    let mock = interactive().await;
    let provider = Provider::GitHub;
    let handle = handle(&page(&mock, provider).await);
    let wrong: [&[_]; 4] = [
        &[("person", "other"), ("id", "<b>ada</b>")],
        &[("person", "nobody")],
        &[("misbehave", "bad_signature")],
        &[],
    ];
    for pairs in wrong {
        let response = choose(&mock, provider, &handle, pairs).await;
        response.assert_page(400, r#"role="alert""#);
        assert!(!response.body.contains("ada</b>"));
    }
    let response = choose(&mock, provider, &handle, &[("person", "ada")]).await;
    assert_eq!(response.status, 303);
}

// A choice on the page is consent, and the callback says so.
#[tokio::test]
async fn a_choice_on_googles_page_gives_a_refresh_token_each_time() {
    let mock = interactive().await;
    for _ in 0..2 {
        let params = authorization(Provider::Google).with("access_type", "offline");
        let handle = handle(&mock.authorize(Provider::Google, &params).await);
        let response = choose(&mock, Provider::Google, &handle, &[("person", "ada")]).await;
        assert_eq!(response.callback().get("prompt"), Some("consent"));
        let code = response.callback().get("code").unwrap().to_owned();
        let answer = mock.token(Provider::Google, &redemption(&code)).await;
        assert!(answer.text("refresh_token").starts_with("1//"));
    }
}

#[tokio::test]
async fn a_choice_is_made_once() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::Google).await);
    let ada = [("person", "ada")];
    let first = choose(&mock, Provider::Google, &handle, &ada).await;
    let second = choose(&mock, Provider::Google, &handle, &ada).await;
    assert_eq!(first.status, 303);
    second.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn a_choice_without_a_checked_request_is_refused() {
    let mock = interactive().await;
    let forged = [
        ("person", "ada"),
        ("redirect_uri", "https://attacker.example/"),
    ];
    let response = choose(&mock, Provider::Google, "forged", &forged).await;
    response.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn parameters_in_the_form_do_not_change_the_checked_request() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::Google).await);
    let pairs = [
        ("person", "ada"),
        ("redirect_uri", "https://attacker.example/"),
        ("state", "x"),
    ];
    let response = choose(&mock, Provider::Google, &handle, &pairs).await;
    assert!(response.header("location").starts_with(CALLBACK));
    assert_ne!(response.callback().get("state"), Some("x"));
}

#[tokio::test]
async fn a_page_expires_after_ten_minutes() {
    let mock = interactive().await;
    let in_time = handle(&page(&mock, Provider::Google).await);
    let too_late = handle(&page(&mock, Provider::Google).await);
    let ada = [("person", "ada")];
    mock.advance_ms(599_999);
    let response = choose(&mock, Provider::Google, &in_time, &ada).await;
    assert_eq!(response.status, 303);
    mock.advance_ms(1);
    let response = choose(&mock, Provider::Google, &too_late, &ada).await;
    response.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn a_reset_forgets_the_pending_sign_ins() {
    let mock = interactive().await;
    let handle = handle(&page(&mock, Provider::GitHub).await);
    mock.upstreams.reset();
    let response = choose(&mock, Provider::GitHub, &handle, &[("person", "ada")]).await;
    response.assert_page(400, "This sign-in is over");
}

#[tokio::test]
async fn client_id_and_scope_are_escaped_on_the_page() {
    let mock = TestMock::with(|settings| {
        let name = "<script>alert(1)</script>";
        settings.github.client = Client::new(name, "secret", [CALLBACK]).unwrap();
        settings.github.mode = Mode::Interactive;
    })
    .await;
    let params = authorization(Provider::GitHub)
        .with("client_id", "<script>alert(1)</script>")
        .with("scope", "\"><script>alert(2)</script>");
    let response = mock.authorize(Provider::GitHub, &params).await;
    assert_eq!(response.status, 200);
    assert!(!response.body.contains("<script"));
}

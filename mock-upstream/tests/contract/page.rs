//! The sign-in page.

mod again;
mod choices;
mod home;

use mock_upstream::users::seed_users;
use mock_upstream::{Client, Clients, Misbehaviour, Mode, Provider};
use reqwest::Method;

use crate::test_mock::{CALLBACK, Params, Response, TestMock, authorization};

pub(crate) async fn interactive() -> TestMock {
    TestMock::with(|settings| {
        settings.google.mode = Mode::Interactive;
        settings.github.mode = Mode::Interactive;
    })
    .await
}

pub(crate) async fn page(mock: &TestMock, provider: Provider) -> Response {
    mock.authorize(provider, &authorization(provider)).await
}

/// The handle in the page's forms.
pub(crate) fn handle(page: &Response) -> String {
    let (_, rest) = page.body.split_once(r#"name="request" value=""#).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

pub(crate) async fn choose(
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
async fn g7_pending_sign_ins_hold_a_bounded_number_of_bytes() {
    const MAX_BYTES: usize = 9 * 1024 * 1024;
    let mock = TestMock::with(|settings| {
        for provider in [&mut settings.google, &mut settings.github] {
            provider.mode = Mode::Interactive;
            provider.clients = Clients::Any;
        }
    });
    let mock = mock.await;
    let long = "a".repeat(60_000);
    let callback = format!("{CALLBACK}/{long}");
    for (provider, name, value) in [
        (Provider::Google, "state", &long),
        (Provider::GitHub, "state", &long),
        (Provider::Google, "redirect_uri", &callback),
        (Provider::GitHub, "redirect_uri", &callback),
    ] {
        let long = authorization(provider).with(name, value);
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
async fn g7_the_journal_truncates_a_long_query_and_a_long_method() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let long = authorization(provider).with("x", &"a".repeat(60_000));
        mock.authorize(provider, &long).await;
        let last = mock.upstream(provider).journal().pop().unwrap();
        assert!(last.query.len() < 5_000, "{} bytes", last.query.len());
        assert!(last.query.ends_with('…'), "{}", last.query);
        let method = Method::from_bytes(&[b'A'; 60_000]).unwrap();
        let request = mock.request(method, mock.upstream(provider).url());
        assert_eq!(Response::of(request).await.status, 405);
        let last = mock.upstream(provider).journal().pop().unwrap();
        assert!(last.method.len() < 5_000, "{} bytes", last.method.len());
    }
}

#[tokio::test]
async fn the_page_says_that_it_is_not_the_real_provider() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        response.assert_page(200, &format!("MOCK {provider} · imitation"));
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
            assert!(response.body.contains(known.reason_at(provider)));
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
async fn a_page_tells_nothing_about_the_other_provider() {
    let mock = interactive().await;
    for (provider, other) in [
        (Provider::Google, Provider::GitHub),
        (Provider::GitHub, Provider::Google),
    ] {
        let response = page(&mock, provider).await;
        assert!(!response.body.contains(other.title()), "{provider}");
    }
}

#[tokio::test]
async fn each_misbehaviour_is_under_the_error_that_the_login_ends_with_and_under_its_group() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        let mut shown = 0;
        for ending in response.body.split("data-ending=\"").skip(1) {
            let (error, groups) = ending.split_once('"').unwrap();
            for group in groups.split("<h4>").skip(1) {
                let (title, buttons) = group.split_once("</h4>").unwrap();
                for button in buttons.split("data-misbehave=\"").skip(1) {
                    let name = button.split('"').next().unwrap();
                    let known = Misbehaviour::parse(provider, name).unwrap();
                    assert_eq!(known.error().unwrap_or("success"), error, "{name}");
                    assert_eq!(known.group().title(), title, "{name}");
                    shown += 1;
                }
            }
        }
        assert_eq!(shown, Misbehaviour::of(provider).len());
    }
}

#[tokio::test]
async fn the_page_loads_its_own_script_and_nothing_else() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let response = page(&mock, provider).await;
        for foreign in ["url(", "@import", "<link"] {
            assert!(!response.body.contains(foreign), "{foreign}");
        }
        assert_eq!(response.body.matches("<script").count(), 1);
        assert_eq!(response.body.matches("src=").count(), 1);
        let (_, path) = response.body.split_once("<script src=\"").unwrap();
        let path = path.split('"').next().unwrap();
        let url = format!("{}{path}", mock.upstream(provider).url());
        let script = mock.get(&url).await;
        assert_eq!(script.status, 200);
        assert_eq!(
            script.header("content-type"),
            "text/javascript; charset=utf-8"
        );
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
async fn only_github_asks_whether_the_address_is_private() {
    let mock = interactive().await;
    for (provider, has_field) in [(Provider::Google, false), (Provider::GitHub, true)] {
        let response = page(&mock, provider).await;
        let field = r#"name="email_private""#;
        assert_eq!(response.body.contains(field), has_field, "{provider}");
    }
}

#[tokio::test]
async fn the_page_names_the_client_and_says_in_plain_words_what_it_asks_for() {
    let mock = TestMock::with(|settings| {
        let client = Client::new("mock-client", "secret", [CALLBACK]).unwrap();
        settings.google.clients = client.clone().named("The shop").into();
        settings.github.clients = client.into();
        settings.google.mode = Mode::Interactive;
        settings.github.mode = Mode::Interactive;
    })
    .await;
    let google = page(&mock, Provider::Google).await.body;
    assert!(google.contains("<bdi>The shop</bdi>"));
    assert!(google.contains(
        r#"<li title="https://www.googleapis.com/auth/userinfo.email">See your e-mail address</li>"#
    ));
    let github = page(&mock, Provider::GitHub).await.body;
    assert!(github.contains("<bdi>mock-client</bdi>"));
    assert!(github.contains(r#"<li title="read:user">See your profile</li>"#));
}

#[tokio::test]
async fn client_id_and_scope_are_escaped_on_the_page() {
    let mock = TestMock::with(|settings| {
        let name = "<script>alert(1)</script>";
        settings.github.clients = Client::new(name, "secret", [CALLBACK]).unwrap().into();
        settings.github.mode = Mode::Interactive;
    })
    .await;
    let params = authorization(Provider::GitHub)
        .with("client_id", "<script>alert(1)</script>")
        .with("scope", "\"><script>alert(2)</script>");
    let response = mock.authorize(Provider::GitHub, &params).await;
    assert_eq!(response.status, 200);
    assert!(!response.body.contains("<script>"));
}

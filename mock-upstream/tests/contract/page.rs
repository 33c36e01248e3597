//! The sign-in page with the choices on it, and the home page.

use mock_upstream::users::seed_users;
use mock_upstream::{Client, Clients, Misbehaviour, Next, Provider};

use crate::test_mock::{
    CALLBACK, GITHUB, GOOGLE, Params, Response, STATE, TestMock, rows, seed_account,
};

/// The handle in the page's forms.
pub(crate) fn handle(page: &Response) -> String {
    let (_, rest) = page.body.split_once(r#"name="request" value=""#).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

/// A sign-in that waits for a choice on its page.
pub(crate) struct Pending<'a>(&'a TestMock, Provider, String);

impl<'a> Pending<'a> {
    pub(crate) async fn at(mock: &'a TestMock, provider: Provider) -> Self {
        Self(mock, provider, handle(&mock.authorize(provider, "").await))
    }

    /// The response to these fields.
    pub(crate) async fn choose(&self, pairs: &[(&str, &str)]) -> Response {
        let Self(mock, provider, handle) = self;
        let form = Params::of(pairs).with("request", handle);
        mock.post(*provider, "/mock/sign-in", &form).await
    }
}

/// More pages than the mock keeps.
const LONG_STATES: usize = 200;

#[tokio::test]
async fn g7_pending_sign_ins_hold_a_bounded_number_of_bytes() {
    const MAX_BYTES: usize = 9 * 1024 * 1024;
    let mock = TestMock::interactive_with(|settings| {
        settings.google.clients = Clients::Any;
        settings.github.clients = Clients::Any;
    });
    let mock = mock.await;
    let long = "a".repeat(60_000);
    let callback = format!("{CALLBACK}/{long}");
    for provider in Provider::ALL {
        for (name, value) in [("state", &long), ("redirect_uri", &callback)] {
            let long = format!("{name}={value}");
            for _ in 0..LONG_STATES {
                let response = mock.authorize(provider, &long).await;
                assert_eq!(response.status, 200);
            }
            let held = mock.upstream(provider).bytes_held();
            assert!((1_000_000..MAX_BYTES).contains(&held), "{held} bytes");
            // The newest page works.
            let newest = Pending::at(&mock, provider).await;
            assert_eq!(newest.choose(ADA).await.status, 303);
            mock.upstream(provider).reset();
            assert_eq!(mock.upstream(provider).bytes_held(), 0);
        }
    }
}

#[tokio::test]
async fn g7_the_journal_truncates_a_long_query_and_a_long_method() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let long = format!("x={}", "a".repeat(60_000));
        mock.authorize(provider, &long).await;
        let last = mock.upstream(provider).journal().pop().unwrap();
        assert!(last.query.len() < 5_000, "{} bytes", last.query.len());
        assert!(last.query.ends_with('…'), "{}", last.query);
        let request = mock.request(provider, &"A".repeat(60_000), "");
        assert_eq!(Response::of(request).await.status, 405);
        let last = mock.upstream(provider).journal().pop().unwrap();
        assert!(last.method.len() < 5_000, "{} bytes", last.method.len());
    }
}

#[tokio::test]
async fn the_page_is_a_marked_imitation_with_the_users_of_its_own_provider() {
    let mock = TestMock::interactive().await;
    for (provider, other) in [(GOOGLE, GITHUB), (GITHUB, GOOGLE)] {
        let response = mock.authorize(provider, "").await;
        let shows = |part: &str| response.body.contains(part);
        response.assert_page(200, &format!("MOCK {provider} · imitation"));
        let cancel = r#"<button id="cancel" name="misbehave" value="deny">"#;
        assert!(shows(cancel), "{provider}");
        assert!(!shows(other.title()), "{provider}");
        // Only GitHub asks whether the address is private.
        assert_eq!(shows(r#"name="email_private""#), provider == GITHUB);
        for known in seed_users() {
            let button = format!(r#"data-person="{}""#, known.key);
            assert!(shows(&button), "{button}");
            assert!(shows(known.reason_at(provider)), "{}", known.key);
        }
    }
}

#[tokio::test]
async fn each_misbehaviour_is_under_the_error_that_the_login_ends_with_and_under_its_group() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let response = mock.authorize(provider, "").await;
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

// A browser applies form-action to the redirects after a form, too.
#[tokio::test]
async fn the_page_loads_its_own_script_and_nothing_else_and_may_redirect() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let response = mock.authorize(provider, "").await;
        let policy = response.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("form-action"));
        let count = |part: &str| response.body.matches(part).count();
        assert_eq!(["url(", "@import", "<link"].map(count), [0; 3]);
        assert_eq!(["<script", "src="].map(count), [1; 2]);
        let (_, path) = response.body.split_once("<script src=\"").unwrap();
        let script = mock.get(provider, path.split('"').next().unwrap()).await;
        let media_type = "text/javascript; charset=utf-8";
        assert_eq!(script.status, 200);
        assert_eq!(script.header("content-type"), media_type);
    }
}

/// The name of the client, and a scope.
const ASKS: &str = r#"
    google | <bdi>The shop</bdi> | <li title="https://www.googleapis.com/auth/userinfo.email">See your e-mail address</li>
    github | <bdi>mock-client</bdi> | <li title="read:user">See your profile</li>
"#;

#[tokio::test]
async fn the_page_names_the_client_and_says_in_plain_words_what_it_asks_for() {
    let mock = TestMock::interactive_with(|settings| {
        let client = Client::new("mock-client", "secret", [CALLBACK]).unwrap();
        settings.google.clients = client.clone().named("The shop").into();
        settings.github.clients = client.into();
    })
    .await;
    for [provider, client, scope] in rows(ASKS) {
        let page = mock.authorize(provider.parse().unwrap(), "").await;
        for part in [client, scope] {
            page.assert_page(200, part);
        }
    }
}

#[tokio::test]
async fn client_id_and_scope_are_escaped_on_the_page() {
    let name = "<script>alert(1)</script>";
    let mock = TestMock::interactive_with(|settings| {
        settings.github.clients = Client::new(name, "secret", [CALLBACK]).unwrap().into();
    })
    .await;
    let scope = "\"><script>alert(2)</script>";
    let changes = format!("client_id={name}; scope={scope}");
    let response = mock.authorize(GITHUB, &changes).await;
    assert_eq!(response.status, 200);
    assert!(!response.body.contains("<script>"));
}

/// The addresses for an app: what each is, and its path.
const ADDRESSES: &str = include_str!("tables/addresses.txt");

#[tokio::test]
async fn the_home_page_lists_the_addresses_for_an_app() {
    let mock = TestMock::interactive().await;
    for [provider, what, path] in rows(ADDRESSES) {
        let provider = provider.parse().unwrap();
        let entry = (what, mock.url(provider, path));
        let listed = format!("<dt>{what}</dt><dd><code>{}</code></dd>", entry.1);
        mock.get(provider, "/").await.assert_page(200, &listed);
        assert!(mock.upstream(provider).endpoints().contains(&entry));
    }
}

#[tokio::test]
async fn the_home_page_says_what_it_is_who_can_sign_in_and_what_is_planned() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let upstream = mock.upstream(provider);
        let home = mock.get(provider, "/").await;
        home.assert_page(200, &format!("An imitation of {provider}"));
        assert!(home.body.contains("Nothing is planned."));
        for known in seed_users() {
            let reason = known.reason_at(provider);
            assert!(home.body.contains(reason), "{reason}");
        }

        mock.queue(provider, Next::User(seed_account(provider, "alan")));
        let timeout = Next::Misbehave(Misbehaviour::Timeout);
        upstream.queue_for("prj_a", timeout).unwrap();
        let home = mock.get(provider, "/").await;
        for part in [
            "<bdi>Alan Turing</bdi> signs in without a page",
            "Failure <code>timeout</code>",
            "(only for <code>prj_a</code>)",
        ] {
            home.assert_page(200, part);
        }
    }
}

const ADA: &[(&str, &str)] = &[("person", "ada")];

const OVER: &str = "This sign-in is over";

#[tokio::test]
async fn a_choice_is_a_303_with_the_checked_request_and_is_made_once() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let pending = Pending::at(&mock, provider).await;
        let forged = [
            ("person", "musa"),
            ("redirect_uri", "https://attacker.example/"),
            ("state", "x"),
        ];
        let chosen = pending.choose(&forged).await;
        assert_eq!(chosen.status, 303);
        assert!(chosen.header("location").starts_with(CALLBACK));
        assert_eq!(chosen.callback().get("state"), Some(STATE));
        assert!(mock.tokens(provider, &chosen.callback()).await.is_granted());
        for over in [pending, Pending(&mock, provider, "forged".to_owned())] {
            over.choose(&forged).await.assert_page(400, OVER);
        }
    }
}

#[tokio::test]
async fn any_other_user_can_sign_in_by_the_form() {
    let mock = TestMock::interactive().await;
    let fields = [
        ("person", "other"),
        ("id", "77"),
        ("username", "someone"),
        ("email", "someone@people.example"),
        ("email_verified", "true"),
        ("email_private", "true"),
    ];
    let chosen = Pending::at(&mock, GITHUB).await.choose(&fields).await;
    let body = mock.account(GITHUB, &chosen.callback()).await.json();
    assert_eq!(body["id"], 77);
    assert_eq!(body["login"], "someone");
    assert_eq!(body["email"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_refused_account_keeps_its_values_and_marks_the_field() {
    let mock = TestMock::interactive().await;
    let fields = [
        ("person", "other"),
        ("id", "x\"1"),
        ("name", "Ada & Co"),
        ("username", "octo"),
        ("email", "octo@people.example"),
        ("email_verified", "true"),
        ("again", "true"),
    ];
    let response = Pending::at(&mock, GITHUB).await.choose(&fields).await;
    for part in [
        r#"id="problem" role="alert""#,
        r#"<details id="someone-else" open>"#,
        r#"value="x&#34;1""#,
        r#"value="Ada &#38; Co""#,
        r#"value="octo""#,
        r#"value="octo@people.example""#,
        r#"name="email_verified" value="true" checked"#,
        r#"name="again" value="true" checked"#,
        r#"aria-invalid="true" aria-describedby="id-message""#,
        "Use digits without leading zeros",
    ] {
        assert!(response.is_page(400, part), "{part} in {}", response.body);
    }
    let unchecked = r#"name="email_private" value="true" checked"#;
    assert!(!response.body.contains(unchecked));
}

#[tokio::test]
async fn an_invalid_choice_shows_the_page_again_and_keeps_the_sign_in() {
    let mock = TestMock::interactive().await;
    let pending = Pending::at(&mock, GITHUB).await;
    let wrong: [&[_]; 4] = [
        &[("person", "other"), ("id", "<b>ada</b>")],
        &[("person", "unknown")],
        &[("misbehave", "bad_signature")],
        &[],
    ];
    for pairs in wrong {
        let response = pending.choose(pairs).await;
        response.assert_page(400, r#"role="alert""#);
        assert!(!response.body.contains("ada</b>"));
    }
    assert_eq!(pending.choose(ADA).await.status, 303);
}

#[tokio::test]
async fn a_page_that_is_over_and_the_home_page_lead_back_to_the_app() {
    let mock = TestMock::interactive().await;
    let over = Pending::at(&mock, GOOGLE).await;
    over.choose(ADA).await;
    let link = r#"id="back" href="http://127.0.0.1:8000""#;
    over.choose(ADA).await.assert_page(400, link);
    // Of a page that was never shown it knows no app.
    let unknown = Pending(&mock, GOOGLE, "unknown".to_owned());
    for page in [unknown.choose(ADA).await, mock.get(GOOGLE, "/").await] {
        assert!(!page.body.contains(r#"id="back""#), "{}", page.body);
    }

    mock.upstreams.set_app_url("http://localhost:3000");
    let link = r#"id="back" href="http://localhost:3000""#;
    for page in [over, unknown] {
        page.choose(ADA).await.assert_page(400, link);
    }
    mock.get(GOOGLE, "/").await.assert_page(200, link);
}

// A choice on the page is consent, and the callback says so: seen in server logs.
#[tokio::test]
async fn a_choice_on_googles_page_gives_a_refresh_token_each_time() {
    let mock = TestMock::interactive().await;
    for _ in 0..2 {
        let handle = handle(&mock.authorize(GOOGLE, "access_type=offline").await);
        let chosen = Pending(&mock, GOOGLE, handle).choose(ADA).await;
        assert_eq!(chosen.callback().get("prompt"), Some("consent"));
        let tokens = mock.tokens(GOOGLE, &chosen.callback()).await;
        assert!(tokens.text("refresh_token").starts_with("1//"));
    }
}

#[tokio::test]
async fn a_page_expires_after_an_hour_and_with_a_reset() {
    let mock = TestMock::interactive().await;
    for provider in Provider::ALL {
        let in_time = Pending::at(&mock, provider).await;
        let too_late = Pending::at(&mock, provider).await;
        mock.advance_ms(3_599_999);
        assert_eq!(in_time.choose(ADA).await.status, 303);
        mock.advance_ms(1);
        too_late.choose(ADA).await.assert_page(400, OVER);
        let forgotten = Pending::at(&mock, provider).await;
        mock.upstreams.reset();
        forgotten.choose(ADA).await.assert_page(400, OVER);
    }
}

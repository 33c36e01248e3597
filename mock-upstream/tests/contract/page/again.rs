//! The same user again next time: a browser that repeats its choice.

use mock_upstream::{Misbehaviour, Mode, Next, Provider};
use reqwest::Method;

use super::{handle, interactive};
use crate::test_mock::{Params, Response, TestMock, authorization};

/// A browser with its cookie.
struct Browser<'a> {
    mock: &'a TestMock,
    provider: Provider,
    cookie: String,
}

impl<'a> Browser<'a> {
    fn new(mock: &'a TestMock, provider: Provider) -> Self {
        let cookie = String::new();
        Self {
            mock,
            provider,
            cookie,
        }
    }

    async fn opens(&self, params: &Params) -> Response {
        let path = match self.provider {
            Provider::Google => "/o/oauth2/v2/auth",
            Provider::GitHub => "/login/oauth/authorize",
        };
        self.gets(&format!("{path}?{}", params.encoded())).await
    }

    async fn gets(&self, path: &str) -> Response {
        let url = format!("{}{path}", self.mock.upstream(self.provider).url());
        let request = self.mock.request(Method::GET, &url);
        // An app on another port may have set a cookie that is not text.
        let cookies = [b"caf\xe9=1; ", self.cookie.as_bytes()].concat();
        Response::of(request.header("cookie", cookies)).await
    }

    async fn posts(&mut self, path: &str, form: &[(&str, &str)]) -> Response {
        let url = format!("{}{path}", self.mock.upstream(self.provider).url());
        let request = self.mock.request(Method::POST, &url).form(form);
        let response = Response::of(request.header("cookie", &self.cookie)).await;
        if let Some(pair) = response.header("set-cookie").split(';').next()
            && !pair.is_empty()
        {
            self.cookie = format!("other=1; {pair}");
        }
        response
    }

    /// Chooses on a new page with these fields.
    async fn chooses(&mut self, fields: &[(&str, &str)]) -> Response {
        let select = authorization(self.provider).with("prompt", "select_account");
        let handle = handle(&self.opens(&select).await);
        let fields = [&[("request", handle.as_str())], fields].concat();
        self.posts("/mock/sign-in", &fields).await
    }

    /// The `sub` or `id` of the user of a sign-in without a page.
    async fn signs_in_as(&self) -> String {
        let callback = self.opens(&authorization(self.provider)).await.callback();
        let form = crate::test_mock::redemption(callback.get("code").unwrap());
        let token = self.mock.token(self.provider, &form).await;
        let token = token.text("access_token");
        let (path, member) = match self.provider {
            Provider::Google => ("/v1/userinfo", "sub"),
            Provider::GitHub => ("/user", "id"),
        };
        let user = self.mock.get_with_token(self.provider, path, &token).await;
        user.json()[member].to_string().replace('"', "")
    }
}

const MUSA_AGAIN: &[(&str, &str)] = &[("person", "musa"), ("again", "true")];

#[tokio::test]
async fn a_browser_signs_the_same_user_in_again_without_a_page() {
    let mock = interactive().await;
    for (provider, id) in [
        (Provider::Google, "100000000000000000006"),
        (Provider::GitHub, "9000006"),
    ] {
        let mut browser = Browser::new(&mock, provider);
        let chosen = browser.chooses(MUSA_AGAIN).await;
        let cookie = chosen.header("set-cookie").to_owned();
        assert!(
            cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"),
            "{cookie}"
        );
        for _ in 0..2 {
            assert_eq!(browser.signs_in_as().await, id);
        }
        // Another browser is asked.
        let other = Browser::new(&mock, provider);
        assert_eq!(other.opens(&authorization(provider)).await.status, 200);
    }
}

#[tokio::test]
async fn without_the_checkbox_no_cookie_is_set() {
    let mock = interactive().await;
    let mut browser = Browser::new(&mock, Provider::Google);
    let chosen = browser.chooses(&[("person", "musa")]).await;
    assert_eq!(chosen.header("set-cookie"), "");
}

#[tokio::test]
async fn select_account_shows_the_page_with_the_last_user_first_and_in_focus() {
    let mock = interactive().await;
    for provider in Provider::ALL {
        let mut browser = Browser::new(&mock, provider);
        browser.chooses(MUSA_AGAIN).await;
        let select = authorization(provider).with("prompt", "select_account");
        let page = browser.opens(&select).await;
        assert_eq!(page.status, 200);
        let first = page.body.split("data-person=").nth(1).unwrap();
        assert!(first.starts_with(r#""musa" autofocus>"#), "{first}");
        assert_eq!(page.body.matches("last time</span>").count(), 1);
        assert!(page.body.contains(r#"id="again" checked"#));
    }
}

// `consent` asks for the page, and `none` for no page: the user is signed in already.
#[tokio::test]
async fn googles_prompt_decides_whether_the_last_user_is_asked() {
    let mock = interactive().await;
    let mut browser = Browser::new(&mock, Provider::Google);
    browser.chooses(MUSA_AGAIN).await;
    let google = authorization(Provider::Google);
    let consent = browser
        .opens(&google.clone().with("prompt", "consent"))
        .await;
    assert_eq!(consent.status, 200);
    let none = browser.opens(&google.with("prompt", "none")).await;
    assert_eq!(none.callback().get("prompt"), Some("none"));
    assert!(none.callback().get("code").is_some());
}

#[tokio::test]
async fn a_user_of_the_form_signs_in_again_too() {
    let mock = interactive().await;
    let mut browser = Browser::new(&mock, Provider::GitHub);
    let fields = [("person", "other"), ("id", "4711"), ("again", "true")];
    browser.chooses(&fields).await;
    assert_eq!(browser.signs_in_as().await, "4711");
    browser
        .chooses(&[("person", "last.time"), ("again", "true")])
        .await;
    assert_eq!(browser.signs_in_as().await, "4711");
}

#[tokio::test]
async fn a_choice_without_the_checkbox_and_the_home_page_end_it() {
    let mock = interactive().await;
    let provider = Provider::GitHub;
    let mut browser = Browser::new(&mock, provider);
    browser.chooses(MUSA_AGAIN).await;
    browser.chooses(&[("person", "ada")]).await;
    assert_eq!(browser.opens(&authorization(provider)).await.status, 200);

    browser.chooses(MUSA_AGAIN).await;
    assert!(browser.gets("/").await.body.contains(r#"id="last-time""#));
    let forgotten = browser.posts("/mock/forget", &[]).await;
    assert_eq!((forgotten.status, forgotten.header("location")), (303, "/"));
    assert!(!browser.gets("/").await.body.contains(r#"id="last-time""#));
    assert_eq!(browser.opens(&authorization(provider)).await.status, 200);
}

#[tokio::test]
async fn a_failure_or_a_queued_entry_leaves_the_last_user() {
    let mock = interactive().await;
    let provider = Provider::GitHub;
    let mut browser = Browser::new(&mock, provider);
    browser.chooses(MUSA_AGAIN).await;
    browser.chooses(&[("misbehave", "deny")]).await;
    assert_eq!(browser.signs_in_as().await, "9000006");
    mock.queue(provider, Next::Misbehave(Misbehaviour::Deny));
    let denied = browser.opens(&authorization(provider)).await.callback();
    assert_eq!(denied.get("error"), Some("access_denied"));
    assert_eq!(browser.signs_in_as().await, "9000006");
}

#[tokio::test]
async fn a_reset_forgets_the_last_user_and_automatic_mode_ignores_it() {
    let mock = interactive().await;
    let provider = Provider::GitHub;
    let mut browser = Browser::new(&mock, provider);
    browser.chooses(MUSA_AGAIN).await;
    mock.upstream(provider).set_mode(Mode::Automatic);
    assert_eq!(browser.signs_in_as().await, "9000001");
    mock.upstream(provider).reset();
    assert_eq!(browser.opens(&authorization(provider)).await.status, 200);
}

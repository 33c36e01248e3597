//! The same user again next time: a browser that repeats its choice.

use mock_upstream::{Misbehaviour, Mode, Next, Provider};

use crate::page::handle;
use crate::test_mock::{
    GITHUB, GOOGLE, Params, Response, TestMock, authorization, authorization_path,
};

/// A browser with its cookie.
struct Browser<'a> {
    mock: &'a TestMock,
    provider: Provider,
    cookie: String,
}

impl<'a> Browser<'a> {
    fn new(mock: &'a TestMock, provider: Provider) -> Self {
        Self {
            mock,
            provider,
            cookie: String::new(),
        }
    }

    async fn opens(&self, params: &Params) -> Response {
        let path = authorization_path(self.provider);
        self.gets(&format!("{path}?{}", params.encoded())).await
    }

    async fn gets(&self, path: &str) -> Response {
        let request = self.mock.request(self.provider, "GET", path);
        // An app on another port may have set a cookie that is not text.
        let cookies = [b"caf\xe9=1; ", self.cookie.as_bytes()].concat();
        Response::of(request.header("cookie", cookies)).await
    }

    async fn posts(&mut self, path: &str, form: &[(&str, &str)]) -> Response {
        let request = self.mock.request(self.provider, "POST", path).form(form);
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

    /// Whether a plain sign-in shows the page.
    async fn is_asked(&self) -> bool {
        self.opens(&authorization(self.provider)).await.status == 200
    }

    /// The `sub` or `id` of the user of a sign-in without a page.
    async fn signs_in_as(&self) -> String {
        let callback = self.opens(&authorization(self.provider)).await.callback();
        let account = self.mock.account(self.provider, &callback).await;
        let member = if self.provider == GOOGLE { "sub" } else { "id" };
        account.json()[member].to_string().replace('"', "")
    }
}

const MUSA_AGAIN: &[(&str, &str)] = &[("person", "musa"), ("again", "true")];

#[tokio::test]
async fn a_browser_signs_the_same_user_in_again_without_a_page() {
    let mock = TestMock::interactive().await;
    for (provider, id) in [(GOOGLE, "100000000000000000006"), (GITHUB, "9000006")] {
        let mut browser = Browser::new(&mock, provider);
        let without_the_checkbox = browser.chooses(&[("person", "musa")]).await;
        assert_eq!(without_the_checkbox.header("set-cookie"), "");
        let chosen = browser.chooses(MUSA_AGAIN).await;
        let cookie = chosen.header("set-cookie");
        let end = "; Path=/; HttpOnly; SameSite=Lax";
        assert!(cookie.ends_with(end), "{cookie}");
        for _ in 0..2 {
            assert_eq!(browser.signs_in_as().await, id);
        }
        assert!(Browser::new(&mock, provider).is_asked().await);
    }
}

// At Google `consent` asks for the page, and `none` for no page: the user is signed in
// already.
#[tokio::test]
async fn the_prompt_decides_whether_the_last_user_is_asked_first_and_in_focus() {
    let mock = TestMock::interactive().await;
    for (provider, prompt) in [
        (GOOGLE, "select_account"),
        (GITHUB, "select_account"),
        (GOOGLE, "consent"),
    ] {
        let mut browser = Browser::new(&mock, provider);
        browser.chooses(MUSA_AGAIN).await;
        let params = authorization(provider).with("prompt", prompt);
        let page = browser.opens(&params).await;
        page.assert_page(200, r#"id="again" checked"#);
        let first = page.body.split("data-person=").nth(1).unwrap();
        assert!(first.starts_with(r#""musa" autofocus>"#), "{first}");
        assert_eq!(page.body.matches("last time</span>").count(), 1);
    }
    let mut browser = Browser::new(&mock, GOOGLE);
    browser.chooses(MUSA_AGAIN).await;
    let none = authorization(GOOGLE).with("prompt", "none");
    let callback = browser.opens(&none).await.callback();
    assert_eq!(callback.get("prompt"), Some("none"));
    assert!(callback.get("code").is_some());
}

#[tokio::test]
async fn a_user_of_the_form_signs_in_again_too() {
    let mock = TestMock::interactive().await;
    let mut browser = Browser::new(&mock, GITHUB);
    let form: &[_] = &[("person", "other"), ("id", "4711"), ("again", "true")];
    for fields in [form, &[("person", "last.time"), ("again", "true")]] {
        browser.chooses(fields).await;
        assert_eq!(browser.signs_in_as().await, "4711");
    }
}

#[tokio::test]
async fn a_choice_without_the_checkbox_and_the_home_page_end_it() {
    let mock = TestMock::interactive().await;
    let mut browser = Browser::new(&mock, GITHUB);
    browser.chooses(MUSA_AGAIN).await;
    browser.chooses(&[("person", "ada")]).await;
    assert!(browser.is_asked().await);

    browser.chooses(MUSA_AGAIN).await;
    assert!(browser.gets("/").await.body.contains(r#"id="last-time""#));
    let forgotten = browser.posts("/mock/forget", &[]).await;
    assert_eq!((forgotten.status, forgotten.header("location")), (303, "/"));
    assert!(!browser.gets("/").await.body.contains(r#"id="last-time""#));
    assert!(browser.is_asked().await);
}

#[tokio::test]
async fn a_failure_a_queued_entry_and_the_automatic_mode_leave_the_last_user() {
    let mock = TestMock::interactive().await;
    let mut browser = Browser::new(&mock, GITHUB);
    browser.chooses(MUSA_AGAIN).await;
    let cancelled = browser.chooses(&[("misbehave", "deny")]).await;
    assert_eq!(cancelled.status, 303);
    let cancelled = cancelled.callback();
    assert_eq!(cancelled.get("error"), Some("access_denied"));
    assert_eq!(browser.signs_in_as().await, "9000006");
    mock.queue(GITHUB, Next::Misbehave(Misbehaviour::Deny));
    let denied = browser.opens(&authorization(GITHUB)).await.callback();
    assert_eq!(denied.get("error"), Some("access_denied"));
    mock.upstream(GITHUB).set_mode(Mode::Automatic);
    assert_eq!(browser.signs_in_as().await, "9000001");
    mock.upstream(GITHUB).set_mode(Mode::Interactive);
    assert_eq!(browser.signs_in_as().await, "9000006");
    mock.upstream(GITHUB).reset();
    assert!(browser.is_asked().await);
}

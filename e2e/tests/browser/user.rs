//! A user at a browser: actions and waits.

use std::path::PathBuf;

use serde_json::{Value, json};
use stack::Stack;
use thirtyfour::error::WebDriverResult;
use thirtyfour::extensions::query::ElementQueryable as _;
use thirtyfour::{By, Key, WebDriver, WebElement, WindowHandle};

/// The flow of a sign-in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flow {
    Clean,
    Legacy,
}

/// A user with a browser, at the demo.
pub(crate) struct User<'a> {
    browser: &'a WebDriver,
    demo: String,
}

impl<'a> User<'a> {
    pub(crate) fn at(browser: &'a WebDriver, stack: &Stack) -> Self {
        Self {
            browser,
            demo: stack.urls().consumer.clone(),
        }
    }

    /// At a demo that is reached at `url`.
    pub(crate) fn at_url(browser: &'a WebDriver, url: &str) -> Self {
        Self {
            browser,
            demo: url.to_owned(),
        }
    }

    pub(crate) async fn opens(&self, url: &str) -> WebDriverResult<()> {
        self.browser.goto(url).await
    }

    pub(crate) async fn opens_the_demo(&self) -> WebDriverResult<()> {
        self.opens(&self.demo).await
    }

    pub(crate) async fn starts(&self, flow: Flow, provider: &str) -> WebDriverResult<()> {
        let hook = match flow {
            Flow::Clean => format!("clean-{provider}"),
            Flow::Legacy => format!("legacy-{provider}"),
        };
        self.clicks(&format!("[data-start='{hook}']")).await
    }

    pub(crate) async fn chooses(&self, user: &str) -> WebDriverResult<()> {
        self.clicks(&format!("[data-person='{user}']")).await
    }

    pub(crate) async fn chooses_misbehaviour(&self, misbehaviour: &str) -> WebDriverResult<()> {
        self.opens_part("failures").await?;
        self.clicks(&format!("[data-misbehave='{misbehaviour}']"))
            .await
    }

    /// Opens a closed part of the provider's page; an open one stays so.
    pub(crate) async fn opens_part(&self, id: &str) -> WebDriverResult<()> {
        let part = self.finds(&format!("details#{id}")).await?;
        match part.attr("open").await? {
            Some(_) => Ok(()),
            None => self.clicks(&format!("details#{id} > summary")).await,
        }
    }

    pub(crate) async fn cancels(&self) -> WebDriverResult<()> {
        self.clicks("#cancel").await
    }

    pub(crate) async fn starts_again(&self) -> WebDriverResult<()> {
        self.clicks("#start-again").await
    }

    pub(crate) async fn signs_out(&self) -> WebDriverResult<()> {
        self.clicks("#sign-out").await
    }

    pub(crate) async fn enters_another_user(&self) -> WebDriverResult<()> {
        self.clicks("#other").await
    }

    pub(crate) async fn fills(&self, field: &str, text: &str) -> WebDriverResult<()> {
        self.finds(&format!("input[name='{field}']"))
            .await?
            .send_keys(text)
            .await
    }

    pub(crate) async fn types(&self, selector: &str, text: &str) -> WebDriverResult<()> {
        self.finds(selector).await?.send_keys(text).await
    }

    pub(crate) async fn uses_a_phone(&self) -> WebDriverResult<()> {
        self.browser.set_window_rect(0, 0, 390, 844).await
    }

    /// A window that shows this much of a page, in CSS pixels.
    pub(crate) async fn has_a_window_of(&self, width: u32, height: u32) -> WebDriverResult<()> {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        let set = self.sends_chromium("Emulation.setDeviceMetricsOverride", size);
        set.await.map(drop)
    }

    /// Nothing at an address of this pattern reaches the browser any more.
    pub(crate) async fn cannot_load(&self, pattern: &str) -> WebDriverResult<()> {
        self.sends_chromium("Network.enable", json!({})).await?;
        let blocked = json!({ "urls": [pattern] });
        let set = self.sends_chromium("Network.setBlockedURLs", blocked);
        set.await.map(drop)
    }

    /// Waits until the page was drawn twice: then its observers have run.
    pub(crate) async fn sees_what_a_page_has_drawn(&self) -> WebDriverResult<()> {
        let twice = "const done = arguments[0]; \
                     requestAnimationFrame(() => requestAnimationFrame(() => setInterval(done, 0)));";
        let drawn = self.browser.execute_async(twice, Vec::new());
        drawn.await.map(drop)
    }

    pub(crate) async fn tab(&self) -> WebDriverResult<WindowHandle> {
        self.browser.window().await
    }

    pub(crate) async fn opens_tab(&self) -> WebDriverResult<WindowHandle> {
        self.browser.new_tab().await
    }

    pub(crate) async fn switches_to(&self, tab: &WindowHandle) -> WebDriverResult<()> {
        self.browser.switch_to_window(tab.clone()).await
    }

    pub(crate) async fn address(&self) -> WebDriverResult<String> {
        self.browser.current_url().await.map(Into::into)
    }

    pub(crate) async fn is_at(&self, url: &str) -> WebDriverResult<()> {
        assert_eq!(self.address().await?, url);
        Ok(())
    }

    pub(crate) async fn is_at_the_mock_of(&self, provider: &str) -> WebDriverResult<()> {
        self.finds(&format!("html[data-provider='{provider}']"))
            .await?;
        let warning = self.finds(".mock").await?.text().await?;
        assert!(
            warning.to_uppercase().contains("MOCK"),
            "it says loudly what it is: {warning}"
        );
        Ok(())
    }

    pub(crate) async fn is_signed_in_as(&self, name: &str) -> WebDriverResult<()> {
        self.sees_field("name", name).await
    }

    pub(crate) async fn sees_field(&self, field: &str, value: &str) -> WebDriverResult<()> {
        let cell = self.finds(&format!("[data-field='{field}']")).await?;
        assert_eq!(cell.text().await?, value, "the profile's {field}");
        Ok(())
    }

    pub(crate) async fn sees_sign_out(&self) -> WebDriverResult<()> {
        self.finds("#sign-out").await.map(drop)
    }

    pub(crate) async fn is_signed_out(&self) -> WebDriverResult<()> {
        self.finds("[data-start='clean-google']").await?;
        assert!(
            !self
                .browser
                .query(By::Css("#sign-out"))
                .nowait()
                .exists()
                .await?
        );
        Ok(())
    }

    pub(crate) async fn sees_problem(&self, problem: &str) -> WebDriverResult<()> {
        self.finds(&format!("#problem[data-problem='{problem}']"))
            .await
            .map(drop)
    }

    /// One of the broker's own pages, and the rule that it names.
    pub(crate) async fn sees_rule(&self, rule: &str) -> WebDriverResult<()> {
        self.finds(&format!("main[data-rule='{rule}']"))
            .await
            .map(drop)
    }

    pub(crate) async fn follows_link(&self) -> WebDriverResult<()> {
        self.clicks("a").await
    }

    pub(crate) async fn sees_heading(&self, text: &str) -> WebDriverResult<()> {
        // One look-up: the element may be gone before its text is read.
        let path = format!("//h1[normalize-space()='{text}']");
        let heading = self.browser.query(By::XPath(path));
        heading.desc(text).first().await.map(drop)
    }

    pub(crate) async fn sees_confirmation_page(&self) -> WebDriverResult<()> {
        self.finds("main[data-question='relay']").await.map(drop)
    }

    /// Waits for the confirmation page, and asserts the project and the origin that it names.
    pub(crate) async fn is_asked_to_confirm(
        &self,
        project: &str,
        origin: &str,
    ) -> WebDriverResult<()> {
        let page = self.finds("main[data-question='relay']").await?;
        let text = page.text().await?;
        let (_, host) = origin.split_once("://").unwrap();
        assert!(text.contains(project) && text.contains(host), "{text}");
        Ok(())
    }

    /// The number of elements of this kind that a user can see.
    pub(crate) async fn counts_shown(&self, selector: &str) -> WebDriverResult<usize> {
        let mut shown = 0;
        for element in self.browser.find_all(By::Css(selector)).await? {
            shown += usize::from(element.is_displayed().await?);
        }
        Ok(shown)
    }

    pub(crate) async fn cancels_confirmation(&self) -> WebDriverResult<()> {
        self.clicks("[data-question] button[value=cancel]").await
    }

    /// Continue, once it is there and can be pressed.
    pub(crate) async fn sees_continue_enabled(&self) -> WebDriverResult<WebElement> {
        let awake = "[data-question] button[value=continue]:not([aria-disabled])";
        let button = self.browser.query(By::Css(awake)).and_displayed();
        button.desc("Continue, awake").first().await
    }

    pub(crate) async fn waits_and_continues(&self) -> WebDriverResult<()> {
        self.sees_continue_enabled().await?.click().await
    }

    /// Presses Continue as soon as there is something to press, and stays.
    pub(crate) async fn presses_continue_in_vain(&self) -> WebDriverResult<()> {
        let before = self.address().await?;
        let button = self
            .browser
            .query(By::Css("[data-question] button[value=continue]"))
            .and_displayed();
        button.first().await?.click().await?;
        self.is_at(&before).await?;
        self.finds("main[data-question='relay']").await.map(drop)
    }

    pub(crate) async fn presses_tab(&self) -> WebDriverResult<()> {
        let keys = self.browser.action_chain().send_keys(Key::Tab);
        keys.perform().await
    }

    pub(crate) async fn presses_enter(&self) -> WebDriverResult<()> {
        let keys = self.browser.action_chain().send_keys(Key::Enter);
        keys.perform().await
    }

    /// The text of the focused element; empty without one.
    pub(crate) async fn focus(&self) -> WebDriverResult<String> {
        let script = "const at = document.activeElement; \
                      return at === document.body ? '' : at.textContent.trim();";
        let text = self.runs(script).await?;
        Ok(text.as_str().unwrap().to_owned())
    }

    /// Runs a script on the page.
    pub(crate) async fn runs(&self, script: &str) -> WebDriverResult<Value> {
        let answer = self.browser.execute(script, Vec::new()).await?;
        Ok(answer.json().clone())
    }

    /// Runs a script on every page from now on, before any of its own.
    pub(crate) async fn runs_on_every_page(&self, script: &str) -> WebDriverResult<()> {
        self.sends_chromium(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": script }),
        )
        .await
        .map(drop)
    }

    pub(crate) async fn disables_scripts(&self) -> WebDriverResult<()> {
        self.sends_chromium(
            "Emulation.setScriptExecutionDisabled",
            json!({ "value": true }),
        )
        .await
        .map(drop)
    }

    pub(crate) async fn forgets_cookies(&self) -> WebDriverResult<()> {
        let all = self.sends_chromium("Network.clearBrowserCookies", json!({}));
        all.await.map(drop)
    }

    /// Every cookie that the browser holds, as Chromium's protocol writes them.
    pub(crate) async fn holds_cookies(&self) -> WebDriverResult<Vec<Value>> {
        let all = self.sends_chromium("Storage.getCookies", json!({})).await?;
        Ok(all["cookies"].as_array().unwrap().clone())
    }

    /// Stores cookies in Chromium, also those that no page could set.
    pub(crate) async fn is_given_cookies(&self, cookies: &[Value]) -> WebDriverResult<()> {
        let cookies = json!({ "cookies": cookies });
        let set = self.sends_chromium("Storage.setCookies", cookies);
        set.await.map(drop)
    }

    pub(crate) async fn prefers_dark_colours(&self) -> WebDriverResult<()> {
        let dark = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
        self.sends_chromium("Emulation.setEmulatedMedia", json!({ "features": dark }))
            .await
            .map(drop)
    }

    /// A command of Chromium's own protocol.
    pub(crate) async fn sends_chromium(&self, what: &str, how: Value) -> WebDriverResult<Value> {
        self.browser.cdp().send_raw(what, how).await
    }

    /// Follows the link with this text.
    pub(crate) async fn follows(&self, link: &str) -> WebDriverResult<()> {
        self.browser.find(By::LinkText(link)).await?.click().await
    }

    /// Waits until a text is on the page, wherever it is.
    pub(crate) async fn reads(&self, text: &str) -> WebDriverResult<()> {
        let path = format!("//body[contains(., '{text}')]");
        let found = self.browser.query(By::XPath(path)).desc(text);
        found.first().await.map(drop)
    }

    pub(crate) async fn has_loaded_only_from(&self, origin: &str) -> WebDriverResult<()> {
        let script = "return performance.getEntriesByType('resource').map(it => it.name);";
        let loaded = self.browser.execute(script, Vec::new()).await?;
        let loaded: Vec<String> = loaded.convert()?;
        assert!(loaded.len() > 2, "{loaded:?}");
        for url in &loaded {
            let is_ours = url.starts_with(&format!("{origin}/")) || url.starts_with("data:");
            assert!(is_ours, "{loaded:?}");
        }
        Ok(())
    }

    pub(crate) async fn sees_no_sideways_scroll(&self, picture: &str) -> WebDriverResult<()> {
        self.takes_picture(picture).await?;
        let script = "const page = document.documentElement; \
                      return page.scrollWidth - page.clientWidth;";
        let overflow: i64 = self.browser.execute(script, Vec::new()).await?.convert()?;
        assert_eq!(overflow, 0, "{picture} is wider than a phone");
        Ok(())
    }

    pub(crate) async fn takes_picture(&self, name: &str) -> WebDriverResult<()> {
        self.browser.screenshot(&picture_path(name)).await
    }

    /// Waits for what a page will show; a click may still be on its way to it.
    async fn finds(&self, selector: &str) -> WebDriverResult<WebElement> {
        self.browser
            .query(By::Css(selector))
            .desc(selector)
            .first()
            .await
    }

    pub(crate) async fn clicks(&self, selector: &str) -> WebDriverResult<()> {
        self.finds(selector).await?.click().await
    }
}

/// The file of a picture.
pub(crate) fn picture_path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.png"))
}

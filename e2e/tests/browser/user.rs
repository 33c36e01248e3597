//! A user at a browser: actions and waits on any page. What only some pages have is with
//! the tests of those.

use std::path::PathBuf;

use serde_json::{Value, json};
use stack::Stack;
use thirtyfour::error::{WebDriverError, WebDriverErrorInner, WebDriverResult};
use thirtyfour::extensions::query::ElementQueryable as _;
use thirtyfour::{By, Key, WebDriver, WebElement, WindowHandle};

/// The flow of a sign-in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flow {
    Clean,
    Legacy,
}

/// A user with a browser of their own, at a stack.
pub(crate) struct User<'a> {
    pub(crate) browser: &'a WebDriver,
    demo: String,
    control: String,
}

impl<'a> User<'a> {
    pub(crate) fn at(browser: &'a WebDriver, stack: &Stack) -> Self {
        Self {
            browser,
            demo: stack.urls().consumer.clone(),
            control: stack.urls().control.clone(),
        }
    }
}

/// What a user does on every page.
impl User<'_> {
    pub(crate) async fn opens(&self, url: &str) -> WebDriverResult<()> {
        self.browser.goto(url).await
    }

    /// Opens a page of the control address.
    pub(crate) async fn opens_control(&self, path: &str) -> WebDriverResult<()> {
        self.opens(&format!("{}{path}", self.control)).await
    }

    pub(crate) async fn clicks(&self, selector: &str) -> WebDriverResult<()> {
        loop {
            match self.clicks_at_once(selector).await {
                // An event came in between, and the page shows the element anew.
                Err(error) if is_stale(&error) => {}
                clicked => return clicked,
            }
        }
    }

    async fn clicks_at_once(&self, selector: &str) -> WebDriverResult<()> {
        let element = self.finds(selector).await?;
        element.scroll_into_view().await?;
        element.click().await
    }

    /// Follows the first link of the page.
    pub(crate) async fn follows_link(&self) -> WebDriverResult<()> {
        self.clicks("a").await
    }

    /// Follows a link that opens a tab of its own.
    pub(crate) async fn follows_into_a_tab(&self, link: &str) -> WebDriverResult<WindowHandle> {
        let before = self.browser.windows().await?;
        self.clicks(link).await?;
        let after = self.browser.windows().await?;
        let new = after.into_iter().find(|tab| !before.contains(tab));
        let new = new.expect("a new tab");
        self.switches_to(&new).await?;
        Ok(new)
    }

    pub(crate) async fn tab(&self) -> WebDriverResult<WindowHandle> {
        self.browser.window().await
    }

    pub(crate) async fn switches_to(&self, tab: &WindowHandle) -> WebDriverResult<()> {
        self.browser.switch_to_window(tab.clone()).await
    }

    pub(crate) async fn types(&self, selector: &str, text: &str) -> WebDriverResult<()> {
        self.finds(selector).await?.send_keys(text).await
    }

    pub(crate) async fn presses(&self, key: Key) -> WebDriverResult<()> {
        let keys = self.browser.action_chain().send_keys(key);
        keys.perform().await
    }

    /// Waits for what a page will show; a click may still be on its way to it.
    pub(crate) async fn finds(&self, selector: &str) -> WebDriverResult<WebElement> {
        let query = self.browser.query(By::Css(selector));
        query.desc(selector).first().await
    }

    /// Waits until `selector` shows `text`.
    pub(crate) async fn sees(&self, selector: &str, text: &str) -> WebDriverResult<()> {
        let query = self.browser.query(By::Css(selector));
        let described = query.desc(&format!("{selector} with {text}"));
        let text = text.to_owned();
        let shows = described.with_filter(move |element: WebElement| {
            let text = text.clone();
            // The element may have been replaced since it was found.
            async move { Ok(element.text().await.is_ok_and(|its| its.contains(&text))) }
        });
        shows.first().await.map(drop)
    }

    /// Waits until a text is on the page, wherever it is.
    pub(crate) async fn reads(&self, text: &str) -> WebDriverResult<()> {
        let path = format!("//body[contains(., '{text}')]");
        let found = self.browser.query(By::XPath(path)).desc(text);
        found.first().await.map(drop)
    }

    pub(crate) async fn sees_heading(&self, text: &str) -> WebDriverResult<()> {
        // One look-up: the element may be gone before its text is read.
        let path = format!("//h1[normalize-space()='{text}']");
        let heading = self.browser.query(By::XPath(path));
        heading.desc(text).first().await.map(drop)
    }

    /// Waits until `selector` is gone.
    pub(crate) async fn sees_no(&self, selector: &str) -> WebDriverResult<()> {
        let query = self.browser.query(By::Css(selector));
        assert!(query.not_exists().await?, "{selector}");
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

    /// The text of the focused element; empty without one.
    pub(crate) async fn focus(&self) -> WebDriverResult<String> {
        let script = "const at = document.activeElement; \
                      return at === document.body ? '' : at.textContent.trim();";
        let text = self.runs(script).await?;
        Ok(text.as_str().unwrap().to_owned())
    }

    pub(crate) async fn address(&self) -> WebDriverResult<String> {
        self.browser.current_url().await.map(Into::into)
    }

    pub(crate) async fn is_at(&self, url: &str) -> WebDriverResult<()> {
        assert_eq!(self.address().await?, url);
        Ok(())
    }

    pub(crate) async fn takes_picture(&self, name: &str) -> WebDriverResult<()> {
        self.browser.screenshot(&picture_path(name)).await
    }
}

/// What a test does to the browser.
impl User<'_> {
    /// Runs a script on the page.
    pub(crate) async fn runs(&self, script: &str) -> WebDriverResult<Value> {
        let answer = self.browser.execute(script, Vec::new()).await?;
        Ok(answer.json().clone())
    }

    /// Runs a script on every page from now on, before any of its own.
    pub(crate) async fn runs_on_every_page(&self, script: &str) -> WebDriverResult<()> {
        let what = "Page.addScriptToEvaluateOnNewDocument";
        self.sends_chromium(what, json!({ "source": script })).await
    }

    pub(crate) async fn disables_scripts(&self) -> WebDriverResult<()> {
        let what = "Emulation.setScriptExecutionDisabled";
        self.sends_chromium(what, json!({ "value": true })).await
    }

    /// A window that shows this much of a page, in CSS pixels.
    pub(crate) async fn has_a_window_of(&self, width: u64, height: u64) -> WebDriverResult<()> {
        self.has_a_scaled_window((width, height), 1.0).await
    }

    /// The same, and the scale of a picture of it.
    pub(crate) async fn has_a_scaled_window(
        &self,
        (width, height): (u64, u64),
        scale: f32,
    ) -> WebDriverResult<()> {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": false,
        });
        let what = "Emulation.setDeviceMetricsOverride";
        self.sends_chromium(what, metrics).await
    }

    /// Sets the preferred colours, and no motion: a page is looked at at any moment.
    pub(crate) async fn prefers(&self, scheme: &str) -> WebDriverResult<()> {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        let what = "Emulation.setEmulatedMedia";
        self.sends_chromium(what, json!({ "features": features }))
            .await
    }

    pub(crate) async fn forgets_cookies(&self) -> WebDriverResult<()> {
        let what = "Network.clearBrowserCookies";
        self.sends_chromium(what, json!({})).await
    }

    /// Every cookie that the browser holds, as Chromium's protocol writes them.
    pub(crate) async fn holds_cookies(&self) -> WebDriverResult<Vec<Value>> {
        let cdp = self.browser.cdp();
        let all = cdp.send_raw("Storage.getCookies", json!({})).await?;
        Ok(all["cookies"].as_array().unwrap().clone())
    }

    /// Stores cookies in Chromium, also those that no page could set.
    pub(crate) async fn is_given_cookies(&self, cookies: &[Value]) -> WebDriverResult<()> {
        let cookies = json!({ "cookies": cookies });
        self.sends_chromium("Storage.setCookies", cookies).await
    }

    /// A command of Chromium's own protocol.
    pub(crate) async fn sends_chromium(&self, what: &str, how: Value) -> WebDriverResult<()> {
        self.browser.cdp().send_raw(what, how).await.map(drop)
    }
}

/// At the demo.
impl User<'_> {
    pub(crate) async fn opens_the_demo(&self) -> WebDriverResult<()> {
        self.opens(&self.demo).await
    }

    pub(crate) async fn opens_the_profile(&self) -> WebDriverResult<()> {
        self.opens(&format!("{}/profile", self.demo)).await
    }

    /// Starts a sign-in on the page of the demo that is open.
    pub(crate) async fn starts(&self, flow: Flow, provider: &str) -> WebDriverResult<()> {
        let hook = match flow {
            Flow::Clean => format!("clean-{provider}"),
            Flow::Legacy => format!("legacy-{provider}"),
        };
        self.clicks(&format!("[data-start='{hook}']")).await
    }

    /// Starts a sign-in at the demo, up to the provider's page.
    pub(crate) async fn goes_to(&self, flow: Flow, provider: &str) -> WebDriverResult<()> {
        self.opens_the_demo().await?;
        self.starts(flow, provider).await?;
        self.is_at_the_mock_of(provider).await
    }

    pub(crate) async fn signs_in(&self, flow: Flow, provider: &str) -> WebDriverResult<()> {
        self.goes_to(flow, provider).await?;
        self.chooses("ada").await?;
        self.is_signed_in_as("Ada Lovelace").await
    }

    pub(crate) async fn signs_out(&self) -> WebDriverResult<()> {
        self.clicks("#sign-out").await?;
        self.is_signed_out().await
    }

    pub(crate) async fn is_signed_in_as(&self, name: &str) -> WebDriverResult<()> {
        self.sees_field("name", name).await
    }

    pub(crate) async fn sees_field(&self, field: &str, value: &str) -> WebDriverResult<()> {
        let cell = self.finds(&format!("[data-field='{field}']")).await?;
        assert_eq!(cell.text().await?, value, "the profile's {field}");
        Ok(())
    }

    pub(crate) async fn is_signed_out(&self) -> WebDriverResult<()> {
        self.finds("[data-start='clean-google']").await?;
        assert_eq!(self.counts_shown("#sign-out").await?, 0);
        Ok(())
    }

    pub(crate) async fn sees_problem(&self, problem: &str) -> WebDriverResult<()> {
        let page = format!("#problem[data-problem='{problem}']");
        self.finds(&page).await.map(drop)
    }
}

/// At an imitated provider.
impl User<'_> {
    pub(crate) async fn is_at_the_mock_of(&self, provider: &str) -> WebDriverResult<()> {
        self.finds(&format!("html[data-provider='{provider}']"))
            .await?;
        let warning = self.finds(".mock").await?.text().await?;
        let is_loud = warning.to_uppercase().contains("MOCK");
        assert!(is_loud, "it says loudly what it is: {warning}");
        Ok(())
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
}

/// At the broker.
impl User<'_> {
    /// The broker's page for a refusal, by words that no other refusal has.
    pub(crate) async fn sees_refusal(&self, words: &str) -> WebDriverResult<()> {
        self.sees("main[data-rule]", words).await
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
}

fn is_stale(error: &WebDriverError) -> bool {
    matches!(
        error.as_inner(),
        WebDriverErrorInner::StaleElementReference(_)
    )
}

/// The file of a picture.
pub(crate) fn picture_path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{name}.png"))
}

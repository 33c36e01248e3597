//! A student in a browser: the lesson in one tab, the demo in others.

use serde_json::json;
use stack::Stack;
use thirtyfour::error::{WebDriverError, WebDriverErrorInner, WebDriverResult};
use thirtyfour::extensions::query::ElementQueryable as _;
use thirtyfour::{By, Key, WebDriver, WebElement, WindowHandle};

use crate::user::{User, picture_path};
use crate::{chromium, interactive_stack};

/// A student with a browser of their own.
pub(crate) struct Student<'a> {
    browser: &'a WebDriver,
    /// The same browser, as a user of the demo.
    pub(crate) user: User<'a>,
    control: String,
    /// The tab of the lesson.
    tab: WindowHandle,
}

/// Lets a student play at a fresh stack.
pub(crate) async fn play(steps: impl AsyncFnOnce(&Stack, &Student<'_>) -> WebDriverResult<()>) {
    let stack = interactive_stack().await;
    let session = chromium::open().await;
    let outcome = async {
        let student = Student {
            browser: &session,
            user: User::at(&session, &stack),
            control: stack.urls().control.clone(),
            tab: session.window().await?,
        };
        steps(&stack, &student).await
    };
    chromium::close_after(&session, outcome).await;
}

impl Student<'_> {
    pub(crate) async fn opens(&self, path: &str) -> WebDriverResult<()> {
        self.browser.goto(format!("{}{path}", self.control)).await
    }

    /// Goes from the list of lessons to this one, and begins.
    pub(crate) async fn begins(&self, lesson: &str) -> WebDriverResult<()> {
        self.opens("/lessons").await?;
        let link = format!(".cards a[href='/lessons/{lesson}']");
        self.clicks(&link).await?;
        self.clicks("#begin").await?;
        self.sees("#check", "Check again").await
    }

    /// Follows the link to the demo of a step, into a new tab.
    pub(crate) async fn opens_the_demo_of(&self, step: usize) -> WebDriverResult<WindowHandle> {
        self.follows_into_a_tab(&format!("#step-{step} a.button"))
            .await
    }

    /// Follows a link that opens a tab of its own.
    pub(crate) async fn follows_into_a_tab(&self, link: &str) -> WebDriverResult<WindowHandle> {
        let before = self.browser.windows().await?;
        self.clicks(link).await?;
        let after = self.browser.windows().await?;
        let new = after.into_iter().find(|tab| !before.contains(tab));
        let new = new.expect("a new tab");
        self.browser.switch_to_window(new.clone()).await?;
        Ok(new)
    }

    /// Goes back to the tab of the lesson.
    pub(crate) async fn returns(&self) -> WebDriverResult<()> {
        self.browser.switch_to_window(self.tab.clone()).await
    }

    /// Presses the button of a step.
    pub(crate) async fn presses(&self, step: usize) -> WebDriverResult<()> {
        self.clicks(&format!("#do-{step}")).await
    }

    /// Waits until the first `done` of `all` steps are ticked, and no other.
    pub(crate) async fn sees_ticks(&self, done: usize, all: usize) -> WebDriverResult<()> {
        for step in 1..=all {
            let state = if step <= done { ".done" } else { ":not(.done)" };
            self.finds(&format!("#step-{step}{state}")).await?;
        }
        Ok(())
    }

    /// Waits for the last tick: the closing paragraph with rules and lines of code.
    pub(crate) async fn completes(&self, all: usize) -> WebDriverResult<()> {
        self.sees_ticks(all, all).await?;
        self.sees("#closing-title", "All steps are done").await?;
        self.finds("#closing a[href^='/source/consumer-demo/src/'][href*='#L']")
            .await?;
        self.finds("#next").await.map(drop)
    }

    /// Waits until `selector` shows `text`.
    pub(crate) async fn sees(&self, selector: &str, text: &str) -> WebDriverResult<()> {
        let (selector, text) = (selector.to_owned(), text.to_owned());
        let query = self.browser.query(By::Css(selector.as_str()));
        let described = query.desc(&format!("{selector} with {text}"));
        let shows = described.with_filter(move |element: WebElement| {
            let text = text.clone();
            // The element may have been replaced since it was found.
            async move { Ok(element.text().await.is_ok_and(|its| its.contains(&text))) }
        });
        shows.first().await.map(drop)
    }

    /// Asserts that `selector` is not on the page.
    pub(crate) async fn sees_no(&self, selector: &str) -> WebDriverResult<()> {
        let query = self.browser.query(By::Css(selector));
        assert!(query.not_exists().await?, "{selector}");
        Ok(())
    }

    pub(crate) async fn clicks(&self, selector: &str) -> WebDriverResult<()> {
        loop {
            match self.clicks_at_once(selector).await {
                // An event came in between, and the page shows the lesson anew.
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

    pub(crate) async fn finds(&self, selector: &str) -> WebDriverResult<WebElement> {
        let query = self.browser.query(By::Css(selector));
        query.desc(selector).first().await
    }

    /// The number of elements.
    pub(crate) async fn count(&self, selector: &str) -> WebDriverResult<usize> {
        let found = self.browser.find_all(By::Css(selector)).await?;
        Ok(found.len())
    }

    /// Presses a key on the page.
    pub(crate) async fn presses_key(&self, key: Key) -> WebDriverResult<()> {
        let keys = self.browser.action_chain().send_keys(key);
        keys.perform().await
    }

    pub(crate) async fn has_screen(&self, width: u32) -> WebDriverResult<()> {
        let metrics = json!({
            "width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        let set = self
            .user
            .sends_chromium("Emulation.setDeviceMetricsOverride", metrics);
        set.await.map(drop)
    }

    pub(crate) async fn takes_picture(&self, name: &str) -> WebDriverResult<()> {
        self.browser.screenshot(&picture_path(name)).await
    }
}

fn is_stale(error: &WebDriverError) -> bool {
    matches!(
        error.as_inner(),
        WebDriverErrorInner::StaleElementReference(_)
    )
}

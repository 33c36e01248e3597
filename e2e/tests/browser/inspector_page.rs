//! The inspector's page in a browser: actions and waits.

use serde_json::{Value, json};
use thirtyfour::error::WebDriverResult;
use thirtyfour::extensions::query::ElementQueryable as _;
use thirtyfour::{By, Key, WebDriver, WebElement};

use crate::user::picture_path;

/// The most presses of Tab before the search for an element fails.
const MOST_TABS: usize = 60;

/// The page also polls every few seconds, which would hide that no event reaches it.
const NO_LOOKING_NOW_AND_THEN: &str = "const often = window.setInterval; \
     window.setInterval = (look, ms) => ms < 1000 ? often(look, ms) : 0;";

/// The inspector, open in a browser.
pub(crate) struct InspectorPage<'a> {
    browser: &'a WebDriver,
    control: String,
}

impl<'a> InspectorPage<'a> {
    /// Opens the inspector at `control`.
    pub(crate) async fn at(browser: &'a WebDriver, control: &str) -> WebDriverResult<Self> {
        let inspector = Self {
            browser,
            control: control.to_owned(),
        };
        inspector.prefers("light").await?;
        let script = json!({ "source": NO_LOOKING_NOW_AND_THEN });
        inspector
            .commands("Page.addScriptToEvaluateOnNewDocument", script)
            .await?;
        browser.goto(control).await?;
        inspector.execute("window.isTheSamePage = true;").await?;
        Ok(inspector)
    }

    pub(crate) async fn opens(&self, path: &str) -> WebDriverResult<()> {
        self.browser.goto(format!("{}{path}", self.control)).await
    }

    /// Waits until the sequence has this title.
    pub(crate) async fn sees_sequence(&self, title: &str) -> WebDriverResult<()> {
        self.finds_text("#sequence-title", title).await.map(drop)
    }

    /// Waits until an arrow has the label `label` and this style.
    pub(crate) async fn sees_arrow(&self, label: &str, style: &str) -> WebDriverResult<()> {
        self.finds(&format!(".step.{style}[aria-label='{label}']"))
            .await
            .map(drop)
    }

    pub(crate) async fn sees_no_arrow(&self, label: &str) -> WebDriverResult<()> {
        let arrow = By::Css(format!(".step[aria-label='{label}']"));
        let is_there = self.browser.query(arrow).nowait().exists().await?;
        assert!(!is_there, "{label}");
        Ok(())
    }

    /// Waits until `selector` shows `text`.
    pub(crate) async fn sees(&self, selector: &str, text: &str) -> WebDriverResult<()> {
        self.finds_text(selector, text).await.map(drop)
    }

    pub(crate) async fn has_not_reloaded(&self) -> WebDriverResult<()> {
        let same = self
            .execute("return window.isTheSamePage === true;")
            .await?;
        assert_eq!(same, json!(true), "the page was loaded anew");
        Ok(())
    }

    pub(crate) async fn clicks_arrow(&self, label: &str) -> WebDriverResult<()> {
        let arrow = self.finds(&format!("a.step[aria-label='{label}']")).await?;
        arrow.scroll_into_view().await?;
        arrow.click().await
    }

    pub(crate) async fn clicks(&self, selector: &str) -> WebDriverResult<()> {
        self.finds(selector).await?.click().await
    }

    /// Chooses an option of a field.
    pub(crate) async fn selects(&self, field: &str, value: &str) -> WebDriverResult<()> {
        let selector = format!("#{field} option[value='{value}']");
        self.finds(&selector).await?.click().await
    }

    /// Types into a field.
    pub(crate) async fn types(&self, field: &str, text: &str) -> WebDriverResult<()> {
        self.finds(&format!("#{field}"))
            .await?
            .send_keys(text)
            .await
    }

    /// Presses Tab until `selector` has the focus.
    pub(crate) async fn tabs_to(&self, selector: &str) -> WebDriverResult<()> {
        for _ in 0..MOST_TABS {
            if self.has_focus(selector).await? {
                return Ok(());
            }
            self.presses(Key::Tab).await?;
        }
        panic!("{selector} is not reached by Tab");
    }

    pub(crate) async fn presses(&self, key: Key) -> WebDriverResult<()> {
        let active = self.browser.active_element().await?;
        active.send_keys(key).await
    }

    /// Waits until `selector` has the focus.
    pub(crate) async fn waits_for_focus(&self, selector: &str) -> WebDriverResult<()> {
        self.finds(&format!("{selector}:focus")).await.map(drop)
    }

    pub(crate) async fn has_focus(&self, selector: &str) -> WebDriverResult<bool> {
        let focused = By::Css(format!("{selector}:focus"));
        self.browser.query(focused).nowait().exists().await
    }

    pub(crate) async fn is_shown(&self, selector: &str) -> WebDriverResult<bool> {
        self.finds(selector).await?.is_displayed().await
    }

    /// Waits until `selector` is gone.
    pub(crate) async fn sees_no(&self, selector: &str) -> WebDriverResult<()> {
        let query = self.browser.query(By::Css(selector));
        let is_gone = query.not_exists().await?;
        assert!(is_gone, "{selector}");
        Ok(())
    }

    pub(crate) async fn takes_picture(&self, name: &str) -> WebDriverResult<()> {
        self.browser.screenshot(&picture_path(name)).await
    }

    pub(crate) async fn sees_no_sideways_scroll(&self) -> WebDriverResult<()> {
        let script = "const page = document.documentElement; \
                      return page.scrollWidth - page.clientWidth;";
        assert_eq!(self.execute(script).await?, json!(0));
        Ok(())
    }

    /// Asserts that nothing overflows the cards of the clock, the misbehaviour and the fault.
    pub(crate) async fn sees_every_tool_in_its_card(&self) -> WebDriverResult<()> {
        let script = "return [...document.querySelectorAll('.tool')] \
                      .filter(card => card.scrollWidth > card.clientWidth) \
                      .map(card => card.querySelector('h2').textContent);";
        assert_eq!(self.execute(script).await?, json!([]));
        Ok(())
    }

    /// Asserts that the last row of the diagram is on the screen.
    pub(crate) async fn sees_the_end_of_the_diagram(&self) -> WebDriverResult<()> {
        self.sees_whole(".diagram > :last-child", "innerHeight")
            .await
    }

    /// Asserts that the chosen arrow is on the screen, and that the exchange which it opened
    /// does not cover it.
    pub(crate) async fn sees_the_chosen_arrow(&self) -> WebDriverResult<()> {
        let uncovered = "(it => it.left >= seen.right ? innerHeight : it.top)\
                         (document.querySelector('#exchange').getBoundingClientRect())";
        self.sees_whole(".step[aria-current]", uncovered).await
    }

    /// Asserts that `selector` ends above `limit`, a length in the page's script.
    async fn sees_whole(&self, selector: &str, limit: &str) -> WebDriverResult<()> {
        let script = format!(
            "const seen = document.querySelector('{selector}').getBoundingClientRect(); \
             return seen.top >= 0 && seen.bottom <= {limit};"
        );
        assert_eq!(self.execute(&script).await?, json!(true), "{selector}");
        Ok(())
    }

    pub(crate) async fn scrolls_to(&self, selector: &str) -> WebDriverResult<()> {
        self.finds(selector).await?.scroll_into_view().await
    }

    /// Sets the size of the screen.
    pub(crate) async fn has_screen(&self, width: u32, height: u32) -> WebDriverResult<()> {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.commands("Emulation.setDeviceMetricsOverride", metrics)
            .await
    }

    pub(crate) async fn prefers_dark_colours(&self) -> WebDriverResult<()> {
        self.prefers("dark").await
    }

    /// Sets the preferred colours, and no motion: pictures are taken at any moment.
    async fn prefers(&self, scheme: &str) -> WebDriverResult<()> {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        let media = json!({ "features": features });
        self.commands("Emulation.setEmulatedMedia", media).await
    }

    pub(crate) async fn disables_scripts(&self) -> WebDriverResult<()> {
        let disabled = json!({ "value": true });
        self.commands("Emulation.setScriptExecutionDisabled", disabled)
            .await
    }

    async fn commands(&self, command: &str, parameters: Value) -> WebDriverResult<()> {
        self.browser.cdp().send_raw(command, parameters).await?;
        Ok(())
    }

    async fn execute(&self, script: &str) -> WebDriverResult<Value> {
        let returned = self.browser.execute(script, Vec::new()).await?;
        Ok(returned.json().clone())
    }

    async fn finds(&self, selector: &str) -> WebDriverResult<WebElement> {
        self.browser
            .query(By::Css(selector))
            .desc(selector)
            .first()
            .await
    }

    async fn finds_text(&self, selector: &str, text: &str) -> WebDriverResult<WebElement> {
        let text = text.to_owned();
        self.browser
            .query(By::Css(selector))
            .desc(&format!("{selector} with {text}"))
            .with_filter(move |element: WebElement| {
                let text = text.clone();
                // The element may have been replaced since it was found.
                async move { Ok(element.text().await.is_ok_and(|its| its.contains(&text))) }
            })
            .first()
            .await
    }
}

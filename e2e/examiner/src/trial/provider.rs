//! The steps of people on the pages of the broker and the providers.

use url::Url;

use super::Trial;
use crate::browser::{Arrival, Browser, Control, Page, Visit};
use crate::person::Person;
use crate::verdict::{Outcome, Stop};

impl Trial<'_> {
    /// Follows the way from the app to the provider's sign-in page. The broker's
    /// question, should it ask one, is answered with Continue.
    pub(crate) async fn to_provider(&self, browser: &mut Browser, visit: Visit) -> Outcome<Page> {
        let mut page = browser.visit(visit).await?;
        if self.testbed.is_broker(&page.url) && page.status == 200 {
            let forms = page.forms().into_iter();
            let go_on = forms
                .into_iter()
                .find(|form| form.action.path().ends_with("/continue"));
            if let Some(form) = go_on {
                let visit = Visit::press(&page, &Control::Button(form.into(), 0));
                page = browser.visit(visit).await?;
            }
        }
        if self.testbed.provider_at(&page.url).is_none() {
            return Err(Stop::not_testable(format!(
                "the browser ended at {} (status {}) and not at the provider's page",
                page.url.path(),
                page.status
            )));
        }
        Ok(page)
    }

    /// Signs `person` in on the provider's page, and stops before the browser asks the
    /// app for its callback.
    pub(crate) async fn choose(
        &self,
        browser: &mut Browser,
        page: &Page,
        person: &Person,
    ) -> Outcome<Visit> {
        let form = page
            .forms()
            .into_iter()
            .find(|form| form.text_fields.iter().any(|it| it == "id"));
        let mut form = form
            .ok_or_else(|| Stop::harness("the provider's page has no form for another account"))?;
        for (name, value) in person.form_fields() {
            form.fill(name, &value);
        }
        form.buttons.clear();
        self.leave_provider(
            browser,
            Visit::press(page, &Control::Button(form.into(), 0)),
        )
        .await
    }

    /// Lets the provider fail or the person cancel (`deny`), and stops before the browser
    /// asks the app for its callback.
    pub(crate) async fn misbehave(
        &self,
        browser: &mut Browser,
        page: &Page,
        name: &str,
    ) -> Outcome<Visit> {
        let wanted = Some(("misbehave".to_owned(), name.to_owned()));
        let controls = page.controls().into_iter();
        let control = controls.into_iter().find(|control| match control {
            Control::Button(form, index) => form
                .buttons
                .get(*index)
                .is_some_and(|it| it.field == wanted),
            Control::Link(_) => false,
        });
        let control =
            control.ok_or_else(|| Stop::harness(format!("the provider's page cannot {name}")))?;
        self.leave_provider(browser, Visit::press(page, &control))
            .await
    }

    async fn leave_provider(&self, browser: &mut Browser, visit: Visit) -> Outcome<Visit> {
        let is_app = |url: &Url| self.testbed.is_app(url);
        match browser.visit_until(visit, is_app).await? {
            Arrival::Stopped(visit) if self.app.has_strict_cookie => Ok(Visit {
                from: None,
                ..visit
            }),
            Arrival::Stopped(visit) => Ok(visit),
            Arrival::Page(page) => Err(Stop::not_testable(format!(
                "the browser ended at {} (status {}) and did not come back to the app",
                page.url.path(),
                page.status
            ))),
        }
    }
}

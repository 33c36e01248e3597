//! A login that a user begins who is signed in already.

use super::Trial;
use crate::browser::{Browser, Page, Visit};
use crate::verdict::{Outcome, Verdict};

impl Trial<'_> {
    /// As [`begin`](Self::begin), in a browser that is signed in; by `old_tab`, a start page
    /// from before, if the page of a signed-in user has no sign-in. `None` if the app then
    /// refuses it: its form may need a token that such a user does not have.
    pub(crate) async fn begin_signed_in(
        &self,
        browser: &mut Browser,
        old_tab: Option<Page>,
    ) -> Outcome<Option<Visit>> {
        let page = browser.open(&self.testbed.start).await?;
        let way = self.way()?;
        let first = way.steps.first();
        if first.is_some_and(|it| it.on_page(&page).is_some()) {
            return self.begin_on(browser, way, page).await.map(Some);
        }
        let begun = self.begin_on(browser, way, old_tab.unwrap_or(page)).await;
        let status = browser.seen.last().map_or(0, |page| page.status);
        match begun {
            Err(stop) if stop.verdict == Verdict::NotTestable && status < 500 => {
                let note = "the app offers no sign-in to a user who is signed in";
                self.transcript.add("examiner", "app", note.to_owned());
                Ok(None)
            }
            begun => begun.map(Some),
        }
    }
}

//! The pages that a user is shown: with words, and with a way to go on. What only a script
//! shows is not seen here, and the check says so unless it fails for another reason.

use super::Trial;
use crate::browser::Page;
use crate::verdict::{Outcome, Stop};

/// The length of the shortest text that says something.
const MIN_TEXT: usize = 10;

impl Trial<'_> {
    /// Whether the user sees words; left open for a page that a script fills.
    pub(crate) fn has_words(&self, page: &Page) -> bool {
        page.text().len() >= MIN_TEXT || self.leave_to_script(page)
    }

    /// Whether a script may show what the page itself lacks. The check is then not tested.
    pub(crate) fn leave_to_script(&self, page: &Page) -> bool {
        let is_open = page.status < 500 && page.is_html() && page.has_script();
        if is_open {
            let path = page.url.path();
            let reason = format!("the page {path} is shown by its script, which was not run");
            let _ = self.left_open.set(reason);
        }
        is_open
    }

    /// The outcome of a check whose steps have ended well.
    pub(crate) fn end(&self) -> Outcome {
        match self.left_open.get() {
            Some(reason) => Err(Stop::not_tested(reason.as_str())),
            None => Ok(()),
        }
    }
}

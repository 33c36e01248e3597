//! The look of a page: who is signed in where no name shows, and what a value became.

use scraper::Selector;

use crate::browser::Page;
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::Outcome;

/// The sign of a session where no name shows: the way to sign out, which a visitor lacks;
/// without one, a page that shows another text than to a visitor.
pub(super) struct SignedInLook {
    is_sign_out_telling: bool,
    visitors_text: String,
}

impl SignedInLook {
    pub(super) async fn learn(trial: &Trial<'_>) -> Outcome<Self> {
        let mut visitor = trial.user("browser B", "Ben");
        let visitors_text = visitor.whoami().await?.text();
        let shows_sign_out = has_sign_out(&mut visitor).await?;
        Ok(Self {
            is_sign_out_telling: shows_sign_out == Some(false),
            visitors_text,
        })
    }

    /// Whether the app shows this user, surely, that they are signed in.
    pub(super) async fn is_shown_to(&self, user: &mut User<'_>) -> Outcome<bool> {
        Ok(self.is_sign_out_telling && has_sign_out(user).await? == Some(true))
    }

    /// As [`is_shown_to`](Self::is_shown_to), with a guess where the app has no such sign.
    pub(super) async fn seems_shown_to(&self, user: &mut User<'_>) -> Outcome<bool> {
        if self.is_sign_out_telling {
            return self.is_shown_to(user).await;
        }
        let page = user.whoami().await?;
        Ok(page.status == 200 && page.text() != self.visitors_text)
    }
}

/// Whether the page has the step that signs out; `None` if no such step is known.
async fn has_sign_out(user: &mut User<'_>) -> Outcome<Option<bool>> {
    let app = user.trial.app;
    let Some(step) = &app.sign_out else {
        return Ok(None);
    };
    let url = user.trial.testbed.at(&app.sign_out_page)?;
    let page = user.open(&url).await?;
    Ok(Some(step.on_page(&page).is_some()))
}

/// The harm that a value does in a page, in words; `needle` names its elements and begins
/// its text. None if it is shown as text.
pub(super) fn harm_of(page: &Page, needle: &str) -> Option<String> {
    if !page.is_html() || !page.body.contains(needle) {
        return None;
    }
    let html = page.document();
    let all = Selector::parse("*").expect("this selector is valid");
    for element in html.select(&all) {
        let name = element.value().name();
        if name.contains(needle) {
            return Some("becomes an element of the page".to_owned());
        }
        if element
            .value()
            .attrs()
            .any(|(name, _)| name.contains(needle))
        {
            return Some(format!("becomes an attribute of the element {name}"));
        }
        let has_needle = || {
            let text: String = element.text().collect();
            text.contains(&format!("{needle}\""))
        };
        if name == "script" && has_needle() {
            return Some("ends a text in a script of the page".to_owned());
        }
        let source = element.attr("src").unwrap_or_default();
        if source.contains(needle) && !source.starts_with("https://") && !source.starts_with('/') {
            return Some(format!(
                "is loaded by the element {name} from an address that is not https"
            ));
        }
    }
    let text = page.text();
    text.contains(&format!("{needle}&lt;"))
        .then(|| "is escaped twice and shown with &lt;".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tests::html;

    #[test]
    fn a_value_that_becomes_markup_is_harm_and_an_escaped_one_is_not() {
        for (body, is_harm) in [
            ("<p>Hello <needle x=1>", true),
            ("<input value=x needle=1>", true),
            ("<script>let name = \"needle\"; alert(1)</script>", true),
            ("<img src='http://people.example/needle.png'>", true),
            ("<img src='javascript:needle'>", true),
            ("<p>needle&amp;lt;b&amp;gt;", true),
            ("<p>needle&lt;needle x=1&gt;", false),
            ("<input value='needle&quot;needle=1'>", false),
            ("<script>let name = \"needle\\\"\"</script>", false),
            ("<img src='https://people.example/needle.png'>", false),
            ("<p>nothing", false),
        ] {
            assert_eq!(harm_of(&html(body), "needle").is_some(), is_harm, "{body}");
        }
    }
}

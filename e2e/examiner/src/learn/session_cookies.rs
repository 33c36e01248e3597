//! The cookies that carry the session: an app has others, for its language, or against
//! forms of other sites, whose attributes are their own.

use crate::app::App;
use crate::browser::Browser;
use crate::person::Person;
use crate::testbed::Testbed;
use crate::verdict::Outcome;

/// The names of those cookies of a browser, in which `person` is signed in, without which
/// the app does not show the person, or with which alone it does.
pub(super) async fn find(
    testbed: &Testbed,
    app: &App,
    browser: &Browser,
    person: &Person,
) -> Outcome<Vec<String>> {
    let whoami = testbed.at(&app.whoami)?;
    let shows = async |keeps: &(dyn Fn(&str) -> bool + Sync)| -> Outcome<bool> {
        let mut copy = browser.clone();
        copy.jar = browser.jar.only(keeps);
        Ok(person.is_shown_in(&copy.open(&whoami).await?.body))
    };
    let mut names: Vec<String> = Vec::new();
    for cookie in browser.jar.of(&testbed.start) {
        let own = cookie.name;
        let carries = !shows(&|name| name != own).await? || shows(&|name| name == own).await?;
        if carries && !names.contains(&own) {
            names.push(own);
        }
    }
    Ok(names)
}

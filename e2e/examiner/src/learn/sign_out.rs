//! The way to sign out.

use super::{Hints, cannot_learn};
use crate::app::{App, Step, path_and_query};
use crate::browser::{Control, Page};
use crate::person::Person;
use crate::testbed::Testbed;
use crate::trial::Trial;

/// The number of controls that are tried; each costs a sign-in.
const MAX_PRESSES: usize = 6;

/// The words of controls that sign out, also in addresses.
const WORDS: [&str; 8] = [
    "sign out", "signout", "sign-out", "sign_out", "log out", "logout", "log-out", "log_out",
];

/// Whether a text or an address speaks of signing out.
pub(super) fn sounds_like(text: &str) -> bool {
    let text = text.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Finds the step after which the app no longer shows the person.
pub(super) async fn find(
    testbed: &Testbed,
    hints: &Hints,
    start: &Page,
    app: &mut App,
) -> Result<(), String> {
    if let Some(step) = &hints.sign_out {
        let page = page_with(testbed, app, step).await?;
        app.sign_out = Some(step.clone());
        app.sign_out_page = page;
        return Ok(());
    }
    for (step, page) in candidates(testbed, app, start).await? {
        app.sign_out = Some(step);
        app.sign_out_page = page;
        if signs_out(testbed, app).await? {
            return Ok(());
        }
    }
    app.sign_out = None;
    Ok(())
}

/// The steps that only a signed-in user has, each with its page, likely ones first.
async fn candidates(
    testbed: &Testbed,
    app: &App,
    start: &Page,
) -> Result<Vec<(Step, String)>, String> {
    let signed_out: Vec<_> = start.controls().iter().map(Step::to).collect();
    let mut found: Vec<(Step, String, bool)> = Vec::new();
    for page in pages_of_user(testbed, app).await? {
        for control in page.controls() {
            let step = Step::to(&control);
            let is_new = !signed_out.iter().any(|it| it.is_like(&step))
                && !found.iter().any(|(its, _, _)| its.is_like(&step));
            if is_new && testbed.is_app(&control.target()) && !is_destructive(&control) {
                let is_likely = sounds_like(&control.describe());
                found.push((step, path_and_query(&page.url), is_likely));
            }
        }
    }
    found.sort_by_key(|(_, _, is_likely)| !is_likely);
    let likely_first = found.into_iter().map(|(step, page, _)| (step, page));
    Ok(likely_first.take(MAX_PRESSES).collect())
}

/// Whether the app's step, which is tried on a user of its own, signs out.
async fn signs_out(testbed: &Testbed, app: &App) -> Result<bool, String> {
    let trial = Trial::new(testbed, app, app.ways[0].flow);
    let mut browser = trial.browser("browser");
    let person = Person::new("Otto");
    let tried = async {
        trial.sign_in(&mut browser, &person).await?;
        if trial.sign_out(&mut browser).await.is_err() {
            return Ok(false);
        }
        Ok(!trial.is_signed_in(&mut browser, &person).await?)
    };
    tried.await.map_err(|stop| cannot_learn(&stop))
}

/// The pages that a user sees after a sign-in.
async fn pages_of_user(testbed: &Testbed, app: &App) -> Result<[Page; 3], String> {
    let trial = Trial::new(testbed, app, app.ways[0].flow);
    let mut browser = trial.browser("browser");
    let opened = async {
        let landing = trial.sign_in(&mut browser, &Person::new("Otto")).await?;
        let whoami = trial.whoami(&mut browser).await?;
        let home = browser.open(&testbed.start).await?;
        Ok([whoami, home, landing])
    };
    opened.await.map_err(|stop| cannot_learn(&stop))
}

/// Whether a press might delete something.
fn is_destructive(control: &Control) -> bool {
    let text = control.describe().to_lowercase();
    ["delete", "remove", "close account"]
        .iter()
        .any(|word| text.contains(word))
}

/// The page on which a signed-in person finds the step.
async fn page_with(testbed: &Testbed, app: &App, step: &Step) -> Result<String, String> {
    let page = pages_of_user(testbed, app)
        .await?
        .into_iter()
        .find(|page| step.on_page(page).is_some());
    page.map(|page| path_and_query(&page.url)).ok_or_else(|| {
        format!("sign_out: {} finds nothing on the pages of a signed-in person: give a selector of a link, a button or a form there", step.describe())
    })
}

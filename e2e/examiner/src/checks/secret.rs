//! The client secret: nowhere where a browser can see it.

use super::key::open_everything;
use crate::person::Person;
use crate::search;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// `secret-not-in-browser`: searched in a whole login, and in the scripts of the pages.
pub(super) async fn secret_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let secret = trial.app.client_secret.as_deref();
    let secret = secret.ok_or_else(|| Stop::not_tested("the project's secret is not known"))?;
    let mut browser = trial.browser("browser A");
    open_everything(trial, &mut browser).await?;
    trial.sign_in(&mut browser, &Person::new("Ada")).await?;
    open_everything(trial, &mut browser).await?;
    let haystacks = search::haystacks_of(&browser, |_| true);
    match search::find_text(&haystacks, secret) {
        None => Ok(()),
        Some(place) => require(false, || format!("the client secret is in {place}")),
    }
}

//! Secrets in what a real browser stores: scripts of the app may put them there.

use std::collections::HashSet;

use super::super::key::logins_of;
use super::super::legacy::parameter;
use crate::chromium::Tab;
use crate::person::Person;
use crate::search::{self, Haystack};
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// `key-not-in-browser`, in Chromium.
pub(in super::super) async fn key_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let mut tab = trial.chromium("Chromium").await?;
    let held = held_in_a_login(trial, &mut tab).await?;
    let calls = trial.calls(mark).await?;
    refuse(search::find_key(&held, &logins_of(&calls)?), "session key")
}

/// `token-not-in-browser`, in Chromium.
pub(in super::super) async fn token_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let mut tab = trial.chromium("Chromium").await?;
    let held = held_in_a_login(trial, &mut tab).await?;
    refuse(search::find_token(&held), "access token")
}

/// `pkce`: the verifier, in Chromium.
pub(in super::super) async fn pkce(trial: &Trial<'_>) -> Outcome {
    let mut tab = trial.chromium("Chromium").await?;
    let held = held_in_a_login(trial, &mut tab).await?;
    let asked = tab.exchanges().iter();
    let challenges: HashSet<_> = asked
        .filter_map(|exchange| parameter(&exchange.url, "code_challenge").ok())
        .collect();
    refuse(search::find_verifier(&held, &challenges), "code_verifier")
}

fn refuse(place: Option<String>, secret: &str) -> Outcome {
    require(place.is_none(), || {
        format!(
            "in Chromium the {secret} is in {}",
            place.unwrap_or_default()
        )
    })
}

/// Everything that the browser holds of the app during a login, and after it.
async fn held_in_a_login(trial: &Trial<'_>, tab: &mut Tab) -> Outcome<Vec<Haystack>> {
    // A page that is opened while a login is under way sees what was stored for it.
    trial.to_provider_in(tab).await?;
    tab.open(&trial.testbed.start).await?;
    let mut held = tab.holdings(&trial.testbed.start).await?;
    let person = Person::new("Ada");
    trial.try_sign_in_in(tab, &person).await?;
    held.extend(tab.holdings(&trial.testbed.start).await?);
    trial.require_signed_in_in(tab, &person).await?;
    held.extend(tab.holdings(&trial.testbed.start).await?);
    Ok(held)
}

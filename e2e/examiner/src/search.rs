//! The search for secrets in everything that a browser saw, also where a framework has
//! encoded or compressed it. Unknown secrets are found by their digests: the examiner
//! never has an app's session key, only the id that the broker's log gives it.

use std::collections::HashSet;

use agent::secrets::find;
use broker::model::LoginId;
use contract::SessionKey;

use crate::browser::{Browser, Page};

pub(crate) use agent::random::challenge;
pub(crate) use agent::secrets::{Haystack, layers};

/// The length of a session key, of a state and of the shortest verifier.
const SECRET_LENGTH: usize = 43;

/// The longest verifier.
const MAX_VERIFIER_LENGTH: usize = 128;

/// Everything that a browser saw of the app: addresses, pages, headers, cookies.
pub(crate) fn haystacks_of(browser: &Browser, is_app: impl Fn(&Page) -> bool) -> Vec<Haystack> {
    let asked = browser.asked.iter();
    let mut all: Vec<_> = asked
        .map(|url| Haystack::new(format!("the address {}", url.path()), url.as_str()))
        .collect();
    for page in browser.seen.iter().filter(|page| is_app(page)) {
        let path = page.url.path();
        all.push(Haystack::new(format!("the page {path}"), &*page.body));
        for (name, value) in &page.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            let place = match (name.as_str(), value.split_once('=')) {
                ("set-cookie", Some((cookie, _))) => format!("the cookie {cookie}"),
                _ => format!("the header {name} of {path}"),
            };
            all.push(Haystack::new(place, value));
        }
    }
    all
}

/// The place of a session key whose login is one of `logins`.
pub(crate) fn find_key(haystacks: &[Haystack], logins: &HashSet<String>) -> Option<String> {
    find_run(haystacks, |run| {
        let mut keys = windows(run).filter_map(|it| it.parse::<SessionKey>().ok());
        keys.any(|key| logins.contains(LoginId::of_key(&key).as_str()))
    })
}

/// The place of a verifier whose challenge is one of `challenges`.
pub(crate) fn find_verifier(
    haystacks: &[Haystack],
    challenges: &HashSet<String>,
) -> Option<String> {
    find_run(haystacks, |run| {
        // Whole runs, and the length that nearly every library makes.
        let whole = Some(run).filter(|it| it.len() <= MAX_VERIFIER_LENGTH);
        let mut candidates = windows(run).chain(whole);
        candidates.any(|candidate| challenges.contains(&challenge(candidate)))
    })
}

/// The place of an access token, by its form.
pub(crate) fn find_token(haystacks: &[Haystack]) -> Option<String> {
    find_run(haystacks, |run| {
        let after = run.split_once("fsi_");
        after.is_some_and(|(_, rest)| rest.len() >= SECRET_LENGTH)
    })
}

/// The place of a known text.
pub(crate) fn find_text(haystacks: &[Haystack], needle: &str) -> Option<String> {
    find(haystacks, |text| text.contains(needle))
}

/// The place of the first text in which a run of letters and digits, long enough for a secret,
/// matches.
fn find_run(haystacks: &[Haystack], mut matches: impl FnMut(&str) -> bool) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    find(haystacks, |text| {
        let runs = text.split(|c| !is_part(c));
        let mut long = runs.filter(|run| run.len() >= SECRET_LENGTH);
        long.any(&mut matches)
    })
}

/// Every part of a run that is as long as a secret. Runs are ASCII: every position is a border.
fn windows(run: &str) -> impl Iterator<Item = &str> {
    (SECRET_LENGTH..=run.len()).map(|end| &run[end - SECRET_LENGTH..end])
}

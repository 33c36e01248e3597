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
    let mut all = Vec::new();
    for url in &browser.asked {
        all.push(Haystack::new(
            format!("the address {}", url.path()),
            url.as_str(),
        ));
    }
    for page in browser.seen.iter().filter(|page| is_app(page)) {
        let path = page.url.path();
        all.push(Haystack::new(
            format!("the page {path}"),
            page.body.as_str(),
        ));
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
        windows(run, SECRET_LENGTH).any(|window| {
            let key = window.parse::<SessionKey>();
            key.is_ok_and(|key| logins.contains(LoginId::of_key(&key).as_str()))
        })
    })
}

/// The place of a verifier whose challenge is one of `challenges`.
pub(crate) fn find_verifier(
    haystacks: &[Haystack],
    challenges: &HashSet<String>,
) -> Option<String> {
    find_run(haystacks, |run| {
        // Whole runs, and the length that nearly every library makes.
        let whole = (SECRET_LENGTH..=MAX_VERIFIER_LENGTH)
            .contains(&run.len())
            .then_some(run);
        let mut candidates = windows(run, SECRET_LENGTH).chain(whole);
        candidates.any(|candidate| challenges.contains(&challenge(candidate)))
    })
}

/// The place of an access token, by its form.
pub(crate) fn find_token(haystacks: &[Haystack]) -> Option<String> {
    find_run(haystacks, |run| {
        let parts = run.match_indices("fsi_");
        parts
            .map(|(start, prefix)| &run[start + prefix.len()..])
            .any(|rest| rest.len() >= SECRET_LENGTH)
    })
}

/// The place of a known text.
pub(crate) fn find_text(haystacks: &[Haystack], needle: &str) -> Option<String> {
    find(haystacks, |text| text.contains(needle))
}

/// The place of the first text in which a run of letters and digits matches.
fn find_run(haystacks: &[Haystack], mut matches: impl FnMut(&str) -> bool) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    find(haystacks, |text| {
        let runs = text.split(|c| !is_part(c));
        let mut long = runs.filter(|run| run.len() >= SECRET_LENGTH);
        long.any(&mut matches)
    })
}

fn windows(run: &str, length: usize) -> impl Iterator<Item = &str> {
    // Runs are ASCII, so that every position is a border.
    (0..=run.len().saturating_sub(length)).filter_map(move |start| run.get(start..start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno-_";

    fn haystack(text: impl Into<String>) -> Vec<Haystack> {
        vec![Haystack::new("here", text)]
    }

    #[test]
    fn a_key_is_found_by_its_login_and_another_random_value_is_none() {
        let key: SessionKey = KEY.parse().unwrap();
        let logins = HashSet::from([LoginId::of_key(&key).as_str().to_owned()]);
        for text in [format!("x{KEY}y"), format!("s%3A%22{KEY}%22")] {
            let place = find_key(&haystack(text), &logins);
            assert_eq!(place.as_deref(), Some("here"));
        }
        assert_eq!(find_key(&haystack(crate::random::secret()), &logins), None);
    }

    #[test]
    fn a_verifier_is_found_by_its_challenge() {
        let challenges = HashSet::from([challenge(KEY)]);
        let place = find_verifier(&haystack(format!("<input value={KEY}>")), &challenges);
        assert_eq!(place.as_deref(), Some("here"));
    }
}

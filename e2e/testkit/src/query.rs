//! The query of a URL: its parameters, and the same URL with others.

use url::Url;

/// The first parameter of this name.
///
/// # Panics
///
/// If there is none.
#[track_caller]
pub fn parameter(url: &str, name: &str) -> String {
    let parsed = Url::parse(url).expect("a URL");
    let found = parsed.query_pairs().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("{name} in {url}")).1.into()
}

/// `url` with `value` instead of what the parameter had, if it was there.
#[must_use]
pub fn with_parameter(url: &str, name: &str, value: &str) -> String {
    with_more(&without_parameter(url, name), name, value)
}

/// `url` with one more parameter, beside those of the same name.
#[must_use]
#[track_caller]
fn with_more(url: &str, name: &str, value: &str) -> String {
    let mut url = Url::parse(url).expect("a URL");
    url.query_pairs_mut().append_pair(name, value);
    url.into()
}

/// `url` without the parameters of this name.
#[must_use]
#[track_caller]
pub fn without_parameter(url: &str, name: &str) -> String {
    let mut url = Url::parse(url).expect("a URL");
    let kept: Vec<_> = url
        .query_pairs()
        .into_owned()
        .filter(|(known, _)| known != name)
        .collect();
    url.query_pairs_mut().clear().extend_pairs(kept);
    url.into()
}

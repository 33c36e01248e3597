//! The cookies of a request as its browser sent them, byte for byte.
//!
//! Rocket's own jar percent-decodes names and trims all of Unicode's white space.
//! A browser does neither, so it lets any sister subdomain set `%5F%5FHost-x`, and
//! the jar then presents that as `__Host-x`, which only this very host can set.
//!
//! Rocket drops a `Cookie` header with one byte that is not UTF-8, and all cookies with it.

use std::collections::HashMap;

use rocket::http::HeaderMap;

use crate::http::dropped_headers::UNREADABLE;

/// The name and value of each cookie whose name starts with `prefix` and came once.
///
/// Of two cookies with one name, at least one was planted. Their order depends on their
/// paths and ages, so neither is used.
pub(crate) fn with_prefix<'r>(
    headers: &'r HeaderMap<'_>,
    prefix: &'static str,
) -> impl Iterator<Item = (&'r str, &'r str)> {
    let mut cookies = HashMap::new();
    for (name, value) in pairs(headers).filter(|(name, _)| name.starts_with(prefix)) {
        cookies
            .entry(name)
            .and_modify(|value| *value = None)
            .or_insert(Some(value));
    }
    cookies
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// Whether cookies came that cannot be read.
pub(crate) fn are_unreadable(headers: &HeaderMap<'_>) -> bool {
    headers.get("Cookie").any(|header| header == UNREADABLE)
}

/// Every pair, without the space or tab that separates it from its neighbours
/// (RFC 6265 section 4.2.1).
fn pairs<'r>(headers: &'r HeaderMap<'_>) -> impl Iterator<Item = (&'r str, &'r str)> {
    headers
        .get("Cookie")
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim_matches([' ', '\t']).split_once('='))
}

#[cfg(test)]
mod tests {
    use rocket::http::Header;

    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: &[(&str, &str)]) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.add(Header::new("Cookie", (*line).to_owned()));
        }
        let mut found: Vec<_> = with_prefix(&headers, "__Host-x").collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{lines:?}");
    }

    #[test]
    fn a_cookie_is_found_under_the_name_that_the_browser_stored() {
        check(&["__Host-x1=a"], &[("__Host-x1", "a")]);
        check(
            &["other=o; __Host-x1=a; __Host-x2=b=c"],
            &[("__Host-x1", "a"), ("__Host-x2", "b=c")],
        );
        check(
            &["__Host-x1=a;\t__Host-x2=", "__Host-x3=%41"],
            &[("__Host-x1", "a"), ("__Host-x2", ""), ("__Host-x3", "%41")],
        );
    }

    #[test]
    fn a_name_that_only_decodes_or_trims_to_the_prefix_is_not_found() {
        for planted in [
            "%5F%5FHost-x1",
            "__%48ost-x1",
            "%5F%5F%48%6F%73%74%2D%78%31",
            "\u{2000}__Host-x1",
            "\u{85}__Host-x1",
            "__host-x1",
        ] {
            check(&[&format!("{planted}=p")], &[]);
            check(
                &[&format!("__Host-x1=a; {planted}=p")],
                &[("__Host-x1", "a")],
            );
        }
        // White space behind the name makes it another name, not the same one.
        check(&["__Host-x1\u{3000}=p"], &[("__Host-x1\u{3000}", "p")]);
    }

    #[test]
    fn of_two_cookies_with_one_name_neither_counts() {
        check(
            &["__Host-x1=a; __Host-x1=b; __Host-x2=c"],
            &[("__Host-x2", "c")],
        );
        check(&["__Host-x1=a", "__Host-x1=a"], &[]);
        check(&["__Host-x1=a; __Host-x1=b; __Host-x1=c"], &[]);
    }
}

//! The headers of pages: against frames, against guessed content types, against caches,
//! and for a `Referer` that shows the origin and no more.

use crate::browser::{Browser, Page};
use crate::person::Person;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// Policies that send other sites the origin, and neither path nor query.
const ORIGIN_ONLY: [&str; 4] = [
    "strict-origin-when-cross-origin",
    "strict-origin",
    "origin",
    "origin-when-cross-origin",
];

/// Policies that a browser knows; it ignores every other.
const KNOWN: [&str; 4] = [
    "no-referrer",
    "no-referrer-when-downgrade",
    "same-origin",
    "unsafe-url",
];

/// `frame`: `frame-ancestors` on every page of a whole visit.
pub(super) async fn frame(trial: &Trial<'_>) -> Outcome {
    for page in pages_of_a_visit(trial).await? {
        let path = page.url.path();
        let policies = page.header("content-security-policy");
        require(refuses_frames(&policies), || {
            let has_old_header = !page.header("x-frame-options").is_empty();
            match (ancestors(&policies).next(), has_old_header) {
                (Some(ancestors), _) => {
                    format!("{path} allows frames: frame-ancestors {ancestors}")
                }
                (None, true) => format!(
                    "{path} has X-Frame-Options alone, which is obsolete, and no Content-Security-Policy with frame-ancestors"
                ),
                (None, false) => {
                    format!("{path} has no Content-Security-Policy with frame-ancestors")
                }
            }
        })?;
    }
    Ok(())
}

/// `headers`: `nosniff` and the policy for `Referer` on every page of a whole visit.
pub(super) async fn headers(trial: &Trial<'_>) -> Outcome {
    for page in pages_of_a_visit(trial).await? {
        let path = page.url.path();
        let sniff = page.header("x-content-type-options");
        require(sniff.trim().eq_ignore_ascii_case("nosniff"), || {
            format!("{path} has no X-Content-Type-Options: nosniff")
        })?;
        let policy = page.referrer_policy().to_lowercase();
        let policy = effective_policy(&policy);
        require(ORIGIN_ONLY.contains(&policy), || match policy {
            "" => format!("{path} has no Referrer-Policy"),
            _ => format!("{path} has the Referrer-Policy {policy}"),
        })?;
    }
    Ok(())
}

/// `no-store`: every answer of the callback, and every answer that shows the user.
pub(super) async fn no_store(trial: &Trial<'_>) -> Outcome {
    let person = Person::new("Ada");
    let mut browser = trial.browser("browser A");
    let callback = visit(trial, &mut browser, &person).await?;
    let answers = browser.seen.iter();
    for answer in answers.filter(|page| trial.testbed.is_app(&page.url)) {
        let path = answer.url.path();
        let (is_callback, is_personal) = (path == callback, person.is_shown_in(&answer.body));
        if is_callback || is_personal {
            require(is_not_stored(&answer.header("cache-control")), || {
                let what = if is_personal {
                    "which shows the user,"
                } else {
                    "the callback,"
                };
                format!("{path}, {what} has no Cache-Control: no-store")
            })?;
        }
    }
    Ok(())
}

/// The pages that a person sees: signed out, after sign-in, after a failure.
async fn pages_of_a_visit(trial: &Trial<'_>) -> Outcome<Vec<Page>> {
    let mut browser = trial.browser("browser A");
    visit(trial, &mut browser, &Person::new("Ada")).await?;
    let seen = browser.seen.into_iter();
    let pages: Vec<_> = seen
        .filter(|page| trial.testbed.is_app(&page.url) && page.is_html())
        .filter(|page| !(300..400).contains(&page.status))
        .collect();
    if pages.is_empty() {
        return Err(Stop::not_testable("the app showed no HTML page at all"));
    }
    Ok(pages)
}

/// A sign-in, a look at the pages, and the callback once more, which leads to a page
/// about a failure. Returns the path of the callback.
async fn visit(trial: &Trial<'_>, browser: &mut Browser, person: &Person) -> Outcome<String> {
    trial.sign_in(browser, person).await?;
    browser.open(&trial.testbed.start).await?;
    let callback = trial.callback()?;
    let mut stranger = trial.browser("browser B");
    stranger.open(&callback).await?;
    browser.seen.append(&mut stranger.seen);
    Ok(callback.path().to_owned())
}

/// Whether one of several policies keeps other sites from framing the page.
fn refuses_frames(policies: &str) -> bool {
    ancestors(policies).any(|sources| {
        let mut sources = sources.split_ascii_whitespace();
        sources.all(|it| it.eq_ignore_ascii_case("'none'") || it.eq_ignore_ascii_case("'self'"))
    })
}

/// The sources of `frame-ancestors` in each policy, which are separated by commas. Within a
/// policy the first one counts.
fn ancestors(policies: &str) -> impl Iterator<Item = &str> {
    policies.split(',').filter_map(|policy| {
        policy.split(';').find_map(|directive| {
            let directive = directive.trim();
            let (name, sources) = directive
                .split_once(|c: char| c.is_ascii_whitespace())
                .unwrap_or((directive, ""));
            name.eq_ignore_ascii_case("frame-ancestors")
                .then_some(sources.trim())
        })
    })
}

/// The last policy that a browser knows.
fn effective_policy(policies: &str) -> &str {
    let mut policies = policies.split(',').map(str::trim);
    let is_known = |it: &&str| ORIGIN_ONLY.contains(it) || KNOWN.contains(it);
    policies.rfind(is_known).unwrap_or_default()
}

fn is_not_stored(cache_control: &str) -> bool {
    let mut directives = cache_control.split(',').map(str::trim);
    directives.any(|it| it.eq_ignore_ascii_case("no-store"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_policies_is_enough_against_frames_unless_it_names_another_site() {
        for (policies, refuses) in [
            (
                "default-src 'self', Frame-Ancestors 'NONE'; base-uri 'none'",
                true,
            ),
            ("frame-ancestors", true),
            ("", false),
            ("default-src 'none'", false),
            ("frame-ancestors *", false),
            ("frame-ancestors *; frame-ancestors 'none'", false),
            ("frame-ancestors 'self' https://partner.example", false),
        ] {
            assert_eq!(refuses_frames(policies), refuses, "{policies}");
        }
    }

    #[test]
    fn the_last_known_policy_counts_and_no_cache_alone_is_stored() {
        let last = effective_policy("no-referrer, strict-origin");
        assert_eq!(last, "strict-origin");
        assert_eq!(effective_policy("origin, made-up"), "origin");
        assert_eq!(effective_policy(""), "");
        assert!(is_not_stored("private, No-Store"));
        assert!(!is_not_stored("no-cache, max-age=0, private"));
    }
}

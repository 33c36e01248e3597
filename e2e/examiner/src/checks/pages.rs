//! The pages of the app: their headers, against frames, against guessed content types, against
//! caches, and for a `Referer` that shows the origin and no more; and pages about errors,
//! without a stack trace and without a debug console.

use std::collections::BTreeSet;

use reqwest::Method;
use url::Url;

use super::corpora::{CORPORA, fill};
use crate::browser::{Browser, Page, Visit};
use crate::random;
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, require};

/// `frame`: `frame-ancestors` on every page of a whole visit.
pub(super) async fn frame(trial: &Trial<'_>) -> Outcome {
    for page in pages_of_a_visit(trial).await? {
        let path = page.url.path();
        let policies = page.header("content-security-policy");
        require(refuses_frames(&policies), || {
            let found = ancestors(&policies).next();
            let found = found.unwrap_or("none (X-Frame-Options is obsolete)");
            format!(
                "{path} allows frames: its frame-ancestors in Content-Security-Policy is {found}"
            )
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
        let is_origin_only = CORPORA
            .referrer_policies
            .iter()
            .any(|(it, sends)| it == policy && sends == "origin");
        require(is_origin_only, || match policy {
            "" => format!("{path} has no Referrer-Policy"),
            _ => format!("{path} has the Referrer-Policy {policy}"),
        })?;
    }
    Ok(())
}

/// `no-store`: every answer of the callback, and every answer that shows the user.
pub(super) async fn no_store(trial: &Trial<'_>) -> Outcome {
    let ada = visit(trial).await?;
    let callback = trial.callback()?;
    let answers = ada.browser.seen.iter();
    for answer in answers.filter(|page| trial.testbed.is_app(&page.url)) {
        let path = answer.url.path();
        let shows_user = ada.person.is_shown_in(&answer.body);
        if !shows_user && path != callback.path() {
            continue;
        }
        let what = if shows_user {
            "which shows the user"
        } else {
            "the callback"
        };
        require(is_not_stored(&answer.header("cache-control")), || {
            format!("{path}, {what}, has no Cache-Control: no-store")
        })?;
    }
    Ok(())
}

/// The pages that a person sees: signed out, after sign-in, after a failure.
async fn pages_of_a_visit(trial: &Trial<'_>) -> Outcome<Vec<Page>> {
    let seen = visit(trial).await?.browser.seen.into_iter();
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
/// about a failure: all in what the browser of the user has seen.
async fn visit<'t>(trial: &'t Trial<'_>) -> Outcome<User<'t>> {
    let mut ada = trial.user("browser A", "Ada");
    ada.sign_in().await?;
    ada.open(&trial.testbed.start).await?;
    let mut stranger = trial.browser("browser B");
    stranger.open(&trial.callback()?).await?;
    ada.browser.seen.append(&mut stranger.seen);
    Ok(ada)
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
    let known = &CORPORA.referrer_policies;
    let policy = policies.rfind(|it| known.iter().any(|(name, _)| name == it));
    policy.unwrap_or_default()
}

fn is_not_stored(cache_control: &str) -> bool {
    let mut directives = cache_control.split(',').map(str::trim);
    directives.any(|it| it.eq_ignore_ascii_case("no-store"))
}

/// `error-page-clean`: addresses, methods, parameters and cookies that no app expects,
/// and a broker that fails.
pub(super) async fn error_page_clean(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    ada.sign_in().await?;
    // A page about a failure often has an address of its own.
    let mut stranger = trial.browser("browser B");
    stranger.open(&trial.callback()?).await?;
    let asked = [ada.browser.asked.as_slice(), &stranger.asked].concat();
    let mut visits = odd_visits(trial)?;
    visits.extend(odd_segments(trial, &asked));
    for path in [&trial.app.whoami, &trial.way()?.callback] {
        let visit = Visit::typed(&trial.testbed.at(path)?);
        let odd = odd_cookies(trial).into_iter();
        visits.extend(odd.map(|it| visit.clone().with_header("cookie", &it)));
    }
    for visit in visits {
        for browser in [&mut trial.browser("browser B"), &mut ada.browser.clone()] {
            browser.visit(visit.clone()).await?;
            no_trace(trial, browser)?;
        }
    }
    for fault in ["refuse", "html_502", "html_200"] {
        let mut ada = trial.user("browser B", "Ada");
        let callback = ada.up_to_callback().await?;
        trial.arm(trial.flow.one_time_call(), fault).await?;
        ada.visit(callback).await?;
        trial.testbed.control.disarm().await?;
        no_trace(trial, &ada.browser)?;
    }
    Ok(())
}

fn odd_visits(trial: &Trial<'_>) -> Outcome<Vec<Visit>> {
    let way = trial.way()?;
    let mut visits = Vec::new();
    let unknown = random::letters();
    for path in &CORPORA.error_page.paths {
        let path = fill(path, &[("unknown", &unknown)]);
        visits.push(Visit::typed(&trial.testbed.at(&path)?));
    }
    let known = [trial.testbed.start.path(), &way.callback, &trial.app.whoami].into_iter();
    for path in known.chain(way.steps.iter().filter_map(|step| step.path())) {
        let url = trial.testbed.at(path)?;
        for query in &CORPORA.error_page.queries {
            let mut url = url.clone();
            url.set_query(Some(query));
            visits.push(Visit::typed(&url));
        }
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let mut visit = Visit::typed(&url).with_method(method);
            visit.fields = Some(vec![("a[b".to_owned(), "\u{0}\u{FFFD}".to_owned())]);
            visits.push(visit);
        }
    }
    Ok(visits)
}

/// The addresses of the app among these, each with a last segment that is no UTF-8.
fn odd_segments(trial: &Trial<'_>, asked: &[Url]) -> Vec<Visit> {
    let asked = asked.iter().filter(|url| trial.testbed.is_app(url));
    let odd = asked.filter_map(|url| url.join("%E0%A4%A").ok());
    let distinct: BTreeSet<Url> = odd.collect();
    distinct.iter().map(Visit::typed).collect()
}

/// The values of `Cookie` headers: odd ones of the session's cookies, and one without names.
fn odd_cookies(trial: &Trial<'_>) -> Vec<String> {
    let names = &trial.app.session_cookies;
    let of_value = |value: &String| {
        let pairs = names.iter().map(|name| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    };
    let values = CORPORA.error_page.cookie_values.iter();
    let mut all: Vec<_> = values.map(of_value).collect();
    all.retain(|cookies| !cookies.is_empty());
    all.push("=;;=; a".to_owned());
    all
}

/// No page of the app that the browser saw has a trace.
fn no_trace(trial: &Trial<'_>, browser: &Browser) -> Outcome {
    let pages = browser.seen.iter();
    for page in pages.filter(|page| trial.testbed.is_app(&page.url)) {
        if let Some(found) = trace_in(page) {
            let (path, status) = (page.url.path(), page.status);
            let shows = format!("{path} (status {status}) shows {found}");
            return Err(Stop::fail(shows));
        }
    }
    Ok(())
}

/// The trace or the console in a page, in words.
fn trace_in(page: &Page) -> Option<&'static str> {
    let text = if page.is_html() {
        page.text()
    } else {
        String::new()
    };
    let texts = [page.body.as_str(), &text];
    let has = |mark: &str| texts.iter().any(|it| it.contains(mark));
    let mark = CORPORA.error_page.marks.iter().find(|(mark, _)| has(mark));
    let has_line = || texts.iter().any(|it| names_source_line(it));
    let line = || has_line().then_some("the name of a source file with the number of a line");
    mark.map(|(_, what)| what.as_str()).or_else(line)
}

/// Whether the text names a line of a source file: `app.py", line 7`, `app.js:7:1`.
fn names_source_line(text: &str) -> bool {
    CORPORA.error_page.sources.iter().any(|ending| {
        let positions = text.match_indices(ending.as_str());
        positions
            .map(|(start, _)| text[start + ending.len()..].trim_start_matches(['"', '\'']))
            .any(|rest| {
                let rest = [", line ", ":line ", " on line ", ":"]
                    .iter()
                    .find_map(|it| rest.strip_prefix(it));
                rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            })
    })
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
    fn the_last_known_policy_counts() {
        let last = effective_policy("no-referrer, strict-origin, made-up");
        assert_eq!((last, effective_policy("")), ("strict-origin", ""));
    }

    #[test]
    fn lines_of_source_files_are_traces_and_names_of_scripts_are_not() {
        for (text, is_trace) in [
            ("File \"/srv/app.py\", line 7, in start", true),
            ("at start (/srv/app.mjs:7:1)", true),
            ("thread 'main' at src/main.rs:7:1", true),
            ("from app.rb:7:in `start'", true),
            ("<script src=\"/app.js\"></script>", false),
            ("http://app.rs:x", false),
            ("main.js?v=7", false),
            ("Node.js, line by line", false),
        ] {
            assert_eq!(names_source_line(text), is_trace, "{text}");
        }
    }
}

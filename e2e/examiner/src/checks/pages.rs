//! The pages of the app: their headers, against frames, against guessed content types, against
//! caches, and for a `Referer` that shows the origin and no more; and pages about errors,
//! without a stack trace and without a debug console.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;
use url::Url;

use super::corpora::{CORPORA, Pair, fill};
use super::failures::with_fault;
use crate::browser::{Browser, Page, Visit};
use crate::random;
use crate::trial::Trial;
use crate::user::User;
use crate::verdict::{Outcome, Stop, require};

/// `frame`: `frame-ancestors` on every page of a whole visit.
pub(super) async fn frame(trial: &Trial<'_>) -> Outcome {
    every_page(trial, |page| {
        let policies = page.header("content-security-policy");
        let found = ancestors(&policies).next().map(|sources| sources.join(" "));
        let found = found.unwrap_or("none (X-Frame-Options is obsolete)".to_owned());
        let allows =
            format!("allows frames: its frame-ancestors in Content-Security-Policy is {found}");
        (!refuses_frames(&policies)).then_some(allows)
    })
    .await
}

/// `headers`: `nosniff` and the policy for `Referer` on every page of a whole visit.
pub(super) async fn headers(trial: &Trial<'_>) -> Outcome {
    every_page(trial, |page| {
        let sniff = page.header("x-content-type-options");
        if !sniff.trim().eq_ignore_ascii_case("nosniff") {
            return Some("has no X-Content-Type-Options: nosniff".to_owned());
        }
        match effective_policy(&page.referrer_policy().to_lowercase()) {
            Some((_, sends)) if sends == "origin" => None,
            Some((policy, _)) => Some(format!("has the Referrer-Policy {policy}")),
            None => Some("has no Referrer-Policy".to_owned()),
        }
    })
    .await
}

/// Looks at the pages that a person sees: signed out, after sign-in, after a failure. The first
/// one with a fault ends the check; its path and the fault make the sentence.
async fn every_page(trial: &Trial<'_>, fault_of: impl Fn(&Page) -> Option<String>) -> Outcome {
    let seen = visit(trial).await?.browser.seen.into_iter();
    let pages: Vec<_> = seen
        .filter(|page| trial.testbed.is_app(&page.url) && page.is_html())
        .filter(|page| !(300..400).contains(&page.status))
        .collect();
    if pages.is_empty() {
        return Err(Stop::not_testable("the app showed no HTML page at all"));
    }
    let mut faults = pages.iter().filter_map(|it| Some((it, fault_of(it)?)));
    faults.next().map_or(Ok(()), |(page, fault)| {
        Err(Stop::fail(format!("{} {fault}", page.url.path())))
    })
}

/// `no-store`: every answer of the callback, and every answer that shows the user.
pub(super) async fn no_store(trial: &Trial<'_>) -> Outcome {
    let ada = visit(trial).await?;
    let callback = trial.callback()?;
    let answers = ada.browser.seen.iter();
    for answer in answers.filter(|page| trial.testbed.is_app(&page.url)) {
        let path = answer.url.path();
        let what = if ada.person.is_shown_in(&answer.body) {
            "which shows the user"
        } else if path == callback.path() {
            "the callback"
        } else {
            continue;
        };
        let directives = answer.header("cache-control");
        let mut directives = directives.split(',').map(str::trim);
        let is_kept_out = directives.any(|it| it.eq_ignore_ascii_case("no-store"));
        require(is_kept_out, || {
            format!("{path}, {what}, has no Cache-Control: no-store")
        })?;
    }
    Ok(())
}

/// A sign-in, a look at the pages, and, in another browser, the callback, which leads to a page
/// about a failure: all in what the browser of the user has seen.
async fn visit<'t>(trial: &'t Trial<'_>) -> Outcome<User<'t>> {
    let mut ada = trial.signed_in("browser A", "Ada").await?;
    ada.open(&trial.testbed.start).await?;
    let mut stranger = trial.browser("browser B");
    stranger.open(&trial.callback()?).await?;
    ada.browser.seen.append(&mut stranger.seen);
    ada.browser.asked.append(&mut stranger.asked);
    Ok(ada)
}

/// Whether one of several policies keeps other sites from framing the page.
fn refuses_frames(policies: &str) -> bool {
    let is_own = |it: &&str| ["'none'", "'self'"].contains(&&*it.to_ascii_lowercase());
    ancestors(policies).any(|sources| sources.iter().all(is_own))
}

/// The sources of `frame-ancestors` in each policy, which are separated by commas. Within a
/// policy the first one counts.
fn ancestors(policies: &str) -> impl Iterator<Item = Vec<&str>> {
    policies.split(',').filter_map(|policy| {
        policy.split(';').find_map(|directive| {
            let mut words = directive.split_ascii_whitespace();
            let is_named = words.next()?.eq_ignore_ascii_case("frame-ancestors");
            is_named.then(|| words.collect())
        })
    })
}

/// The last policy that a browser knows, and what of an address it sends to other sites.
fn effective_policy(policies: &str) -> Option<&'static Pair> {
    let known = &CORPORA.referrer_policies;
    let mut policies = policies.rsplit(',').map(str::trim);
    policies.find_map(|policy| known.iter().find(|(name, _)| name == policy))
}

/// `error-page-clean`: addresses, methods, parameters and cookies that no app expects,
/// and a broker that fails.
pub(super) async fn error_page_clean(trial: &Trial<'_>) -> Outcome {
    // A page about a failure often has an address of its own.
    let ada = visit(trial).await?;
    let mut visits = odd_visits(trial)?;
    visits.extend(odd_segments(trial, &ada.browser.asked));
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
        let operation = trial.flow.one_time_call();
        let (user, _) = with_fault(trial, operation, fault, &Value::Null).await?;
        no_trace(trial, &user.browser)?;
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
        let plain = Visit::typed(&trial.testbed.at(path)?);
        for query in &CORPORA.error_page.queries {
            let mut visit = plain.clone();
            visit.url.set_query(Some(query));
            visits.push(visit);
        }
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let mut visit = plain.clone().with_method(method);
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
    let odd = CORPORA.error_page.cookie_values.iter().map(of_value);
    let odd = odd.filter(|cookies| !cookies.is_empty());
    odd.chain(["=;;=; a".to_owned()]).collect()
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
    let mut texts = page.body.clone();
    if page.is_html() {
        // As a person reads it: without entities, and without the tags between its parts.
        texts.extend(["\n", &page.text()]);
    }
    let mut marks = CORPORA.error_page.marks.iter();
    let mark = marks.find(|(mark, _)| texts.contains(mark));
    let line = "the name of a source file with the number of a line";
    let line = || names_source_line(&texts).then_some(line);
    mark.map(|(_, what)| what.as_str()).or_else(line)
}

/// Whether the text names a line of a source file: `app.py", line 7`, `app.js:7:1`.
fn names_source_line(text: &str) -> bool {
    let is_number = |it: &str| it.starts_with(|c: char| c.is_ascii_digit());
    let is_place = |rest: &str| {
        let rest = rest.trim_start_matches(['"', '\'']);
        let mut before = [", line ", ":line ", " on line ", ":"].into_iter();
        before.any(|it| rest.strip_prefix(it).is_some_and(is_number))
    };
    let mut sources = CORPORA.error_page.sources.iter();
    sources.any(|ending| text.split(ending).skip(1).any(is_place))
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
        let name = |policies| Some(effective_policy(policies)?.0.as_str());
        let last = name("no-referrer, strict-origin, made-up");
        assert_eq!((last, name("")), (Some("strict-origin"), None));
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

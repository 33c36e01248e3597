//! Pages about errors: without a stack trace, and without a debug console.

use std::collections::BTreeSet;

use reqwest::Method;
use url::Url;

use crate::browser::{Browser, Page, Visit};
use crate::person::Person;
use crate::random;
use crate::trial::Trial;
use crate::verdict::{Outcome, require};

/// `error-page-clean`: addresses, methods, parameters and cookies that no app expects,
/// and a broker that fails.
pub(super) async fn error_page_clean(trial: &Trial<'_>) -> Outcome {
    let mut user = trial.browser("browser A");
    trial.sign_in(&mut user, &Person::new("Ada")).await?;
    // A page about a failure often has an address of its own.
    let mut stranger = trial.browser("browser B");
    stranger.open(&trial.callback()?).await?;
    let asked = [user.asked.as_slice(), &stranger.asked].concat();
    for visit in odd_visits(trial)?
        .into_iter()
        .chain(odd_segments(trial, &asked))
    {
        for browser in [&mut trial.browser("browser B"), &mut user.clone()] {
            browser.visit(visit.clone()).await?;
            check(trial, browser)?;
        }
    }
    for cookies in odd_cookies(trial) {
        for path in [&trial.app.whoami, &trial.way()?.callback] {
            let visit = Visit::typed(&trial.testbed.at(path)?).with_header("cookie", &cookies);
            let mut browser = trial.browser("browser B");
            browser.visit(visit).await?;
            check(trial, &browser)?;
        }
    }
    for fault in ["refuse", "html_502", "html_200"] {
        let mut browser = trial.browser("browser B");
        let callback = trial
            .up_to_callback(&mut browser, &Person::new("Ada"))
            .await?;
        trial.arm(trial.flow.one_time_call(), fault).await?;
        browser.visit(callback).await?;
        trial.testbed.control.disarm().await?;
        check(trial, &browser)?;
    }
    Ok(())
}

fn odd_visits(trial: &Trial<'_>) -> Outcome<Vec<Visit>> {
    let callback = &trial.way()?.callback;
    let start = trial.testbed.start.path();
    let starts = trial.way()?.steps.iter().filter_map(|step| step.path());
    let mut visits = Vec::new();
    let unknown = format!("/{}", random::letters());
    for path in [unknown.as_str(), "/%00", "/console", "/../../etc/passwd"] {
        visits.push(Visit::typed(&trial.testbed.at(path)?));
    }
    for path in [start, callback, &trial.app.whoami]
        .into_iter()
        .chain(starts)
    {
        let url = trial.testbed.at(path)?;
        for query in ODD_QUERIES {
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

/// Queries that parsers stumble over.
const ODD_QUERIES: [&str; 4] = [
    "%ff=%&%=%zz&a[=1&a[b]=2&a=3",
    "code=%00&state=%00&error[]=1",
    "code[a]=1&state[b]=2&error=%ff",
    "state=%F0%9F%98%80&code=%F0%9F%98%80",
];

fn odd_cookies(trial: &Trial<'_>) -> Vec<String> {
    let values = [
        "%",
        "%ff%fe",
        "s%3Aj%3A{",
        "eyJhIjoxfQ.bad.bad",
        "\"",
        "\u{FFFD}",
        "==",
    ];
    let of_value = |value: &str| {
        let names = trial.app.session_cookies.iter();
        let pairs: Vec<_> = names.map(|name| format!("{name}={value}")).collect();
        pairs.join("; ")
    };
    let all = values.into_iter().map(of_value);
    all.filter(|cookies| !cookies.is_empty())
        .chain(["=;;=; a".to_owned()])
        .collect()
}

/// No page of the app that the browser saw has a trace.
fn check(trial: &Trial<'_>, browser: &Browser) -> Outcome {
    let pages = browser.seen.iter();
    for page in pages.filter(|page| trial.testbed.is_app(&page.url)) {
        let found = trace_in(page);
        require(found.is_none(), || {
            format!(
                "{} (status {}) shows {}",
                page.url.path(),
                page.status,
                found.unwrap_or_default()
            )
        })?;
    }
    Ok(())
}

/// Words of the traces and consoles of frameworks.
const MARKS: [(&str, &str); 20] = [
    (
        "Traceback (most recent call last)",
        "a stack trace of Python",
    ),
    ("Werkzeug Debugger", "Werkzeug's debugger"),
    ("__debugger__", "Werkzeug's debugger"),
    ("Interactive Console", "a debug console"),
    ("DEBUG = True", "Django's debug page"),
    ("Using the URLconf defined in", "Django's debug page"),
    ("node:internal/", "a stack trace of Node"),
    ("/node_modules/", "a stack trace of Node"),
    ("stack backtrace:", "a stack trace of Rust"),
    ("panicked at ", "a panic of Rust"),
    ("RUST_BACKTRACE", "a panic of Rust"),
    ("java.lang.", "a stack trace of Java"),
    ("Exception in thread", "a stack trace of Java"),
    ("Rails.root:", "Rails' debug page"),
    ("ActionController::", "Rails' debug page"),
    ("Web Console", "Rails' console"),
    ("Fatal error: Uncaught", "an error of PHP"),
    ("Stack trace:", "a stack trace"),
    ("goroutine 1 [", "a stack trace of Go"),
    ("Microsoft.AspNetCore", "a stack trace of .NET"),
];

/// The endings of source files, which a trace follows with the number of a line.
const SOURCES: [&str; 14] = [
    ".py", ".js", ".mjs", ".cjs", ".ts", ".rs", ".rb", ".erb", ".java", ".kt", ".php", ".go",
    ".cs", ".ex",
];

fn trace_in(page: &Page) -> Option<String> {
    let text = if page.is_html() {
        page.text()
    } else {
        String::new()
    };
    let has = |mark: &str| page.body.contains(mark) || text.contains(mark);
    let mark = MARKS.iter().find(|(mark, _)| has(mark));
    mark.map(|(_, what)| (*what).to_owned()).or_else(|| {
        let has_line = names_source_line(&page.body) || names_source_line(&text);
        has_line.then(|| "the name of a source file with the number of a line".to_owned())
    })
}

/// Whether the text names a line of a source file: `app.py", line 7`, `app.js:7:1`.
fn names_source_line(text: &str) -> bool {
    SOURCES.iter().any(|ending| {
        let positions = text.match_indices(ending);
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

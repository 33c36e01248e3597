//! Learning: the examiner finds the sign-in controls by pressing everything on the start
//! page, each in a fresh browser, and looking which press reached the broker; then it
//! signs in, looks where the person's name shows, and finds the way to sign out.

mod refusals;
mod sign_in;
mod signed_in;

use std::time::Duration;

use agent::url::path_and_query;
use url::Url;

use crate::app::{App, Flow, SignInWay, Step, shown_target};
use crate::browser::{Browser, Page, Visit, is_loopback, origin};
use crate::plan::Hints;
use crate::random;
use crate::testbed::Testbed;
use crate::time::Stopwatch;
use crate::transcript::{Transcript, printable};

/// A step of the preflight that succeeded, as the report shows it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct PreflightStep {
    /// The step: `reachable`.
    pub step: &'static str,
    /// The finding, in one sentence.
    pub says: String,
}

/// The app, and what the preflight found.
pub(crate) struct Learnt {
    pub(crate) app: App,
    pub(crate) preflight: Vec<PreflightStep>,
    /// The time that the start page took.
    pub(crate) latency: Duration,
    /// The failure for which no login ends well; it is among those of the app.
    pub(crate) broken: Option<String>,
}

impl PreflightStep {
    /// The step of a finding about what was not tried.
    const UNTRIED: &str = "untried";

    /// A finding, which may quote a text of the app: a link in it may carry a token.
    pub(crate) fn new(step: &'static str, says: &str) -> Self {
        let says = printable(&stack::mask::scrub(says));
        Self { step, says }
    }

    /// Whether something was not tried, so that the app gets no A+.
    pub fn is_untried(&self) -> bool {
        self.step == Self::UNTRIED
    }
}

/// An answer after this time is slow.
pub(crate) const SLOW: Duration = Duration::from_millis(500);

/// Learns the app of `testbed`.
///
/// # Errors
///
/// If it cannot be examined: one sentence with the way out.
pub(crate) async fn learn(
    testbed: &Testbed,
    hints: &Hints,
    flow: Option<Flow>,
) -> Result<Learnt, String> {
    let mut learning = Learning {
        testbed,
        hints,
        preflight: Vec::new(),
        app: App::default(),
    };
    let mark = testbed.mark().await?;
    let (start, latency) = learning.reach_start_page().await?;
    let broken = match learning.find_everything(&start, flow).await {
        Ok(()) => None,
        Err(stop) => Some(learning.broken(mark, flow, stop).await?),
    };
    let Learning { app, preflight, .. } = learning;
    Ok(Learnt {
        app,
        preflight,
        latency,
        broken,
    })
}

/// The steps of the preflight.
struct Learning<'a> {
    testbed: &'a Testbed,
    hints: &'a Hints,
    /// The steps so far.
    preflight: Vec<PreflightStep>,
    /// The app as far as it is known.
    app: App,
}

impl Learning<'_> {
    /// Adds a finding.
    fn found(&mut self, step: &'static str, says: impl AsRef<str>) {
        let step = PreflightStep::new(step, says.as_ref());
        self.preflight.push(step);
    }

    /// The start page, and the time that it took.
    async fn reach_start_page(&mut self) -> Result<(Page, Duration), String> {
        let mut browser = self.testbed.browser("browser", &Transcript::start());
        permitted(self.testbed, &mut browser).await?;
        let watch = Stopwatch::start();
        let page = start_page(self.testbed, &mut browser).await?;
        let latency = watch.elapsed();
        let seconds = latency.as_secs_f64();
        let slow = match latency > SLOW {
            true => format!(", but only after {seconds:.1} s: the examination takes minutes"),
            false => String::new(),
        };
        let (start, status) = (&self.testbed.start, page.status);
        let says = format!("{start} answers with status {status}{slow}");
        self.found("reachable", says);
        Ok((page, latency))
    }

    async fn find_everything(&mut self, start: &Page, flow: Option<Flow>) -> Result<(), String> {
        self.find_ways(start, flow).await?;
        self.find_project().await?;
        self.find_callbacks().await?;
        self.find_person().await?;
        self.find_sign_out(start).await
    }

    /// The failure of one check for which no login ends well, if `stop` comes from such a one.
    ///
    /// # Errors
    ///
    /// Else `stop`, with what is known besides.
    async fn broken(
        &mut self,
        mark: u64,
        flow: Option<Flow>,
        stop: String,
    ) -> Result<String, String> {
        if let Some(end) = self.testbed.end_of_app("the preflight").await {
            return Err(end);
        }
        let calls = self.testbed.calls(mark).await?;
        let mut rules = calls.iter().filter_map(|call| call.rule.as_deref());
        let (check, says) = if flow != Some(Flow::Legacy)
            && rules.any(|it| it == "session_key.fresh")
        {
            let says = "the app sends a session key that the broker has seen before, and no further login begins";
            ("key-fresh", says.to_owned())
        } else if let Some(cookie) = self.dropped_cookie().await {
            let says = format!("browsers drop the cookie {cookie}, and no login ends well: {stop}");
            ("cookie-attributes", says)
        } else if self.app.ways.is_empty() {
            return Err(stop);
        } else {
            return Err(stop + refusals::last(self.testbed, &calls).await.as_str());
        };
        self.app.failed.insert(check, (says.clone(), Vec::new()));
        Ok(says)
    }

    /// Finds the ways to sign in, by this flow if one is given.
    async fn find_ways(&mut self, start: &Page, flow: Option<Flow>) -> Result<(), String> {
        let found = sign_in::find(self.testbed, self.hints, start).await?;
        self.app.failed = found.failed;
        self.app.ways = found.ways;
        let ways = &mut self.app.ways;
        ways.retain(|way| flow.is_none_or(|flow| way.flow == flow));
        if ways.is_empty() {
            let name = flow.map_or("", Flow::into);
            let unused = || format!("the app does not use the {name} flow: leave out --flow");
            return Err(found.untried.into_iter().next().unwrap_or_else(unused));
        }
        let names: Vec<_> = ways.iter().map(describe).collect();
        self.found("sign_in", format!("sign-in starts by {}", names.join("; ")));
        for says in found.untried {
            self.found(PreflightStep::UNTRIED, says);
        }
        if !found.others.is_empty() {
            self.found("controls", format!("others: {}", found.others.join("; ")));
        }
        Ok(())
    }

    /// Finds the project, and what else is known before anybody has signed in.
    async fn find_project(&mut self) -> Result<(), String> {
        let project = match self.testbed.project() {
            Some(project) => project.clone(),
            None => refusals::project(self.testbed, &self.app.ways[0].project).await?,
        };
        self.testbed.counts_only(&project.client_id);
        // The id of a project is no secret, and may look like one.
        self.preflight.push(PreflightStep {
            step: "project",
            says: format!("the app is the project {}", project.client_id),
        });
        self.app.whoami = path_and_query(&self.testbed.start);
        self.app.sign_out_page = path_and_query(&self.testbed.start);
        self.app.client_secret = Some(project.client_secret);
        Ok(())
    }

    /// Finds the page that shows who is signed in, if need be as if the session's cookie were
    /// not SameSite=Strict.
    async fn find_person(&mut self) -> Result<(), String> {
        if let Err(stop) = self.look_for_person().await {
            self.app.has_strict_cookie = self.gets_strict_cookie().await;
            if !self.app.has_strict_cookie || self.look_for_person().await.is_err() {
                return Err(stop);
            }
            self.found(
                "cookies",
                "no user can sign in with a browser, because the session's cookie is SameSite=Strict; the other checks go on as if it were not",
            );
        }
        let whoami = shown_target(&self.app.whoami);
        self.found("whoami", format!("{whoami} shows who is signed in"));
        Ok(())
    }
}

fn describe(way: &SignInWay) -> String {
    let last = way.steps.last().map_or_else(String::new, Step::describe);
    format!("{last} ({}, {} flow)", way.provider, way.flow)
}

/// Whether the text of a control, or an address, has one of these words.
fn has_word(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| text.contains(word))
}

/// Another machine must say that it may be examined.
async fn permitted(testbed: &Testbed, browser: &mut Browser) -> Result<(), String> {
    if is_loopback(&testbed.start) {
        return Ok(());
    }
    let permission = testbed.at("/.well-known/examine-permission")?;
    if permits(browser, &permission).await {
        return Ok(());
    }
    Err(format!(
        "{} does not allow an examination: it has to answer GET {} with status 200 by itself, and an unknown path beside it with another status",
        origin(&testbed.start),
        permission.path()
    ))
}

/// Whether the host allows an examination at this very address. One that answers with 200
/// to everything has not been asked.
async fn permits(browser: &mut Browser, permission: &Url) -> bool {
    let status = async |browser: &mut Browser, url: &Url| {
        let page = browser.send(&Visit::typed(url)).await;
        page.map_or(0, |it| it.status)
    };
    let Ok(unknown) = permission.join(&format!("examine-{}", random::letters())) else {
        return false;
    };
    status(browser, permission).await == 200 && status(browser, &unknown).await != 200
}

/// The start page, if there is an app at all.
async fn start_page(testbed: &Testbed, browser: &mut Browser) -> Result<Page, String> {
    let start = &testbed.start;
    let page = browser.open(start).await.map_err(|stop| {
        format!("no app answers at {start} ({}): start it, or give its command after -- and the examiner starts it", stop.actual)
    })?;
    if page.status >= 400 {
        return Err(format!(
            "{start} answers with status {}: give the page on which a visitor chooses to sign in, and mend the app if this is it",
            page.status
        ));
    }
    if !testbed.is_app(&page.url) {
        return Err(format!(
            "{start} leads to {}: give the app's own address as the start page",
            origin(&page.url)
        ));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tests::{answering, plain_browser};

    #[tokio::test]
    async fn a_host_permits_an_examination_only_at_that_very_address() {
        let alone: fn(&str) -> &'static str = |path| match path {
            "/.well-known/examine-permission" => "200 OK",
            _ => "404 Not Found",
        };
        let redirect = |path: &str| match path {
            "/.well-known/examine-permission" => "303 See Other\r\nLocation: /home",
            "/home" => "200 OK",
            _ => "404 Not Found",
        };
        for (answer, is_permitted) in [(alone, true), (|_| "200 OK", false), (redirect, false)] {
            let (_server, start) = answering(answer).await;
            let permission = start.join("/.well-known/examine-permission");
            let permits = permits(&mut plain_browser(), &permission.unwrap()).await;
            assert_eq!(permits, is_permitted);
        }
    }
}

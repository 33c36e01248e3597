//! Secrets: none is where a browser can see it, in the app's cookies, or in its logs.

use std::collections::HashSet;

use super::corpora::CORPORA;
use super::demands::{absent, parameter, some_cookies};
use super::failures::{calls_of, login_before};
use crate::app::Flow;
use crate::browser::{Browser, Page, Visit};
use crate::calls::Call;
use crate::random;
use crate::search::{self, Haystack};
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop};

/// `key-not-in-browser`: searched in everything that the browser saw of a whole login.
pub(super) async fn key_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let mark = trial.mark().await?;
    let mut ada = trial.user("browser A", "Ada");
    ada.sign_in().await?;
    let calls = trial.calls(mark).await?;
    let haystacks = search::haystacks_of(&ada.browser, |_| true);
    let place = search::find_key(&haystacks, &logins_of(&calls)?);
    absent("the session key of the login is", place)
}

/// The logins whose keys are looked for; without one, nothing would be found.
pub(super) fn logins_of(calls: &[Call]) -> Outcome<HashSet<String>> {
    let logins: HashSet<_> = calls.iter().filter_map(|call| call.login.clone()).collect();
    if logins.is_empty() {
        return Err(Stop::not_testable(
            "the sign-in made no call whose login the broker knows",
        ));
    }
    Ok(logins)
}

/// `secret-not-in-browser`: searched in a whole login, in the scripts of the pages, and after
/// lost answers.
pub(super) async fn secret_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let secret = client_secret(trial);
    let secret = secret.ok_or_else(|| Stop::not_tested("the project's secret is not known"))?;
    let mut ada = trial.user("browser A", "Ada");
    open_everything(trial, &mut ada.browser).await?;
    ada.sign_in().await?;
    open_everything(trial, &mut ada.browser).await?;
    let mut haystacks = search::haystacks_of(&ada.browser, |_| true);
    // The page of an error may quote what was sent.
    for operation in calls_of(trial.flow) {
        for fault in ["lose_response", "truncate"] {
            let mut login = login_before(trial, operation).await?;
            trial.arm(operation, fault).await?;
            // Whether the app answers its browser is another check's concern.
            login.user.visit(login.next.clone()).await.ok();
            trial.testbed.control.disarm().await?;
            haystacks.extend(search::haystacks_of(&login.user.browser, |_| true));
        }
    }
    absent(
        "the client secret is",
        search::find_text(&haystacks, secret),
    )
}

/// `token-not-in-browser`: searched in everything that the browser saw of a whole login.
pub(super) async fn token_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    ada.sign_in().await?;
    open_everything(trial, &mut ada.browser).await?;
    let haystacks = search::haystacks_of(&ada.browser, |_| true);
    absent("the access token is", search::find_token(&haystacks))
}

/// Opens the addresses of the app that a browser shows, for searches beyond a login.
async fn open_everything(trial: &Trial<'_>, browser: &mut Browser) -> Outcome {
    let page = browser.open(&trial.testbed.start).await?;
    let shown = page.resources().into_iter();
    for url in shown.filter(|url| trial.testbed.is_app(url)) {
        browser.open(&url).await?;
    }
    Ok(())
}

/// `cookie-holds-no-secret`: every value that the app gave any cookie during a login and
/// after it, decoded: random or encrypted, with nothing to read in it.
pub(super) async fn cookie_holds_no_secret(trial: &Trial<'_>) -> Outcome {
    let mut ada = trial.user("browser A", "Ada");
    let mark = trial.mark().await?;
    ada.sign_in().await?;
    ada.open(&trial.testbed.start).await?;
    let calls = trial.calls(mark).await?;

    let mut seen = search::haystacks_of(&ada.browser, |page| trial.testbed.is_app(&page.url));
    seen.retain(|haystack| haystack.place.starts_with("the cookie "));
    let cookies = some_cookies(seen)?;
    let mut secrets = Secrets::default();
    secrets.learn(trial.flow, &ada.browser);
    // The log knows a legacy login by its state, which is looked for by itself.
    if trial.flow == Flow::Clean {
        secrets.logins = logins_of(&calls)?;
    }
    let marks = ada.person.marks();
    let marks = marks.map(|it| ("a value of the user's profile", it.to_owned()));
    secrets.texts.extend(marks);
    let states = ada.browser.asked.iter();
    let states = states.filter_map(|url| parameter(url, "state").ok());
    secrets
        .texts
        .extend(states.map(|state| ("the state", state)));
    secrets.require_absent(&cookies, "is readable")
}

/// `log-clean`: after a good login, and after everything that makes an app write more.
pub(super) async fn log_clean(trial: &Trial<'_>) -> Outcome {
    if !trial.testbed.owns_app() && trial.testbed.logs.is_empty() {
        return Err(Stop::not_tested(
            "the examiner did not start this app, and no log file is named: give its command after --, or its log with --log",
        ));
    }
    let mut secrets = Secrets::default();
    let printed = trial.testbed.output().await.map_or(0, |it| it.total());
    let mark = trial.mark().await?;
    let mut ada = trial.user("browser A", "Ada");
    ada.sign_in().await?;
    ada.sign_out().await.ok();
    secrets.learn(trial.flow, &ada.browser);
    let mut pages = Vec::new();
    for operation in calls_of(trial.flow) {
        for fault in ["lose_response", "html_502", "truncate"] {
            let mut login = login_before(trial, operation).await?;
            trial.arm(operation, fault).await?;
            login.user.visit(login.next.clone()).await?;
            trial.testbed.control.disarm().await?;
            secrets.learn(trial.flow, &login.user.browser);
            pages.extend(error_pages(trial, &login.user.browser));
        }
    }
    let stray = stray_visits(trial).await?;
    secrets.learn(trial.flow, &stray);
    pages.extend(error_pages(trial, &stray));
    // An app logs after it has answered.
    trial.calls(mark).await?;
    let mut everything = trial.testbed.calls(0).await?;
    // A legacy login is named after its state, which is no secret once it is used.
    everything.retain(|call| call.operation.contains("/login/"));
    secrets.logins = everything.into_iter().filter_map(|it| it.login).collect();

    let mut haystacks = written(trial, printed).await?;
    haystacks.extend(pages);
    let client_secret = client_secret(trial).map(|it| ("the client secret", it.to_owned()));
    secrets.texts.extend(client_secret);
    secrets.require_absent(&haystacks, "is")
}

/// The secret of the project in this testbed: each testbed has a project of its own.
pub(super) fn client_secret<'t>(trial: &'t Trial<'_>) -> Option<&'t str> {
    let own = trial.testbed.project.as_ref();
    let own = own.map(|project| project.client_secret.as_str());
    own.or(trial.app.client_secret.as_deref())
}

/// Visits that end in errors: an unknown address and a callback out of turn, each with a
/// code, and with strange parameters.
async fn stray_visits(trial: &Trial<'_>) -> Outcome<Browser> {
    let mut browser = trial.browser("browser B");
    trial.begin(&mut browser).await?;
    let query = format!("code={}&state={}", random::secret(), random::secret());
    for address in [trial.callback()?, trial.testbed.at("/no-such-page")?] {
        for query in CORPORA.error_page.queries.iter().chain([&query]) {
            let mut url = address.clone();
            url.set_query(Some(query));
            browser.visit(Visit::typed(&url)).await?;
        }
    }
    Ok(browser)
}

/// The app's error pages, as this browser saw them.
fn error_pages(trial: &Trial<'_>, browser: &Browser) -> Vec<Haystack> {
    let is_error = |page: &&Page| page.status >= 400 && trial.testbed.is_app(&page.url);
    let pages = browser.seen.iter().filter(is_error);
    pages
        .map(|page| {
            let place = format!("the error page {}", page.url.path());
            Haystack::new(place, page.body.as_str())
        })
        .collect()
}

/// The output of the app and its logs, each line once; the app had printed `before` bytes when
/// the check began.
async fn written(trial: &Trial<'_>, before: usize) -> Outcome<Vec<Haystack>> {
    let mut all = Vec::new();
    if let Some(output) = trial.testbed.output().await {
        if output.dropped > before {
            return Err(Stop::not_testable(
                "the app printed more than is kept during a few logins: let it print less, or name its log with --log",
            ));
        }
        all.push(lines_once("the app's output", &output.text()));
    }
    for log in &trial.testbed.logs {
        let name = log.path.display().to_string();
        let text = log.appended().map_err(|error| {
            Stop::not_testable(format!(
                "the log {name} cannot be read ({error}): name the app's log with --log"
            ))
        })?;
        all.push(lines_once(&format!("the log {name}"), &text));
    }
    Ok(all)
}

/// A log repeats itself; a line is searched once.
fn lines_once(place: &str, text: &str) -> Haystack {
    let mut known = HashSet::new();
    let lines: Vec<_> = text.lines().filter(|line| known.insert(*line)).collect();
    Haystack::new(place, lines.join("\n"))
}

/// The secrets of the trial's logins, as far as the examiner knows them.
#[derive(Default)]
struct Secrets {
    /// The name of each secret that is known as it is, and its text.
    texts: Vec<(&'static str, String)>,
    challenges: HashSet<String>,
    logins: HashSet<String>,
}

impl Secrets {
    /// Learns the codes and the challenges that this browser carried. By the clean flow an
    /// app receives no code.
    fn learn(&mut self, flow: Flow, browser: &Browser) {
        for url in &browser.asked {
            let code = parameter(url, "code").ok().filter(|_| flow == Flow::Legacy);
            self.texts.extend(code.map(|it| ("a handoff code", it)));
            self.challenges
                .extend(parameter(url, "code_challenge").ok());
        }
    }

    /// The first secret that is written, and its place.
    fn find(&self, haystacks: &[Haystack]) -> Option<(&'static str, String)> {
        let verifier = search::find_verifier(haystacks, &self.challenges);
        let found = [
            ("a session key", search::find_key(haystacks, &self.logins)),
            ("an access token", search::find_token(haystacks)),
            ("a code_verifier", verifier),
        ];
        let mut found = found.into_iter();
        let found = found.find_map(|(secret, place)| Some((secret, place?)));
        let mut texts = self.texts.iter();
        found.or_else(|| {
            texts.find_map(|(secret, text)| Some((*secret, search::find_text(haystacks, text)?)))
        })
    }

    /// Demands that no secret is written; `is` stands between it and its place.
    fn require_absent(&self, haystacks: &[Haystack], is: &str) -> Outcome {
        match self.find(haystacks) {
            None => Ok(()),
            Some((secret, place)) => Err(Stop::fail(format!("{secret} {is} in {place}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::corpora::fill;
    use super::*;

    #[test]
    fn each_secret_is_found_in_a_log() {
        let code = random::secret();
        let verifier = random::secret();
        let secrets = Secrets {
            texts: vec![
                ("a handoff code", code.clone()),
                ("the client secret", "s3cret-s3cret".to_owned()),
            ],
            challenges: HashSet::from([search::challenge(&verifier)]),
            ..Secrets::default()
        };
        let random = random::secret();
        let words = [
            ("code", &code),
            ("verifier", &verifier),
            ("random", &random),
        ];
        for (line, expected) in [
            ("GET /cb?code={code}&state=x 303", Some("a handoff code")),
            ("{'code_verifier': '{verifier}'}", Some("a code_verifier")),
            (
                "Authorization: Bearer fsi_{random}",
                Some("an access token"),
            ),
            ("client_secret=s3cret-s3cret", Some("the client secret")),
            ("request {random}", None),
        ] {
            let line = fill(line, &words);
            let text = lines_once("the log", &format!("start\n{line}\n{line}\n"));
            let found = secrets.find(&[text]);
            assert_eq!(found.map(|(secret, _)| secret), expected, "{line}");
        }
    }
}

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
use crate::user::User;
use crate::verdict::{Outcome, Stop};

/// `key-not-in-browser`: searched in everything that the browser saw of a whole login.
pub(super) async fn key_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let (ada, calls) = whole_login(trial).await?;
    let haystacks = search::haystacks_of(&ada.browser, |_| true);
    let place = search::find_key(&haystacks, &logins_of(&calls)?);
    absent("the session key of the login is", place)
}

/// A user who has signed in, and who has opened what the start page loads before and after it;
/// with the app's calls.
async fn whole_login<'t>(trial: &'t Trial<'_>) -> Outcome<(User<'t>, Vec<Call>)> {
    let mark = trial.mark().await?;
    let mut ada = trial.user("browser A", "Ada");
    open_everything(trial, &mut ada.browser).await?;
    ada.sign_in().await?;
    open_everything(trial, &mut ada.browser).await?;
    Ok((ada, trial.calls(mark).await?))
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
    let (ada, _) = whole_login(trial).await?;
    let mut haystacks = search::haystacks_of(&ada.browser, |_| true);
    // The page of an error may quote what was sent.
    for browser in after_faults(trial, &["lose_response", "truncate"]).await? {
        haystacks.extend(search::haystacks_of(&browser, |_| true));
    }
    let place = search::find_text(&haystacks, secret);
    absent("the client secret is", place)
}

/// The browsers of logins in each of which a call of the app met one of `faults`.
async fn after_faults(trial: &Trial<'_>, faults: &[&str]) -> Outcome<Vec<Browser>> {
    let mut browsers = Vec::new();
    for operation in calls_of(trial.flow) {
        for fault in faults {
            let (mut user, next) = login_before(trial, operation).await?;
            trial.arm(operation, fault).await?;
            // Whether the app answers its browser is another check's concern.
            user.visit(next).await.ok();
            trial.testbed.control.disarm().await?;
            browsers.push(user.browser);
        }
    }
    Ok(browsers)
}

/// `token-not-in-browser`: searched in everything that the browser saw of a whole login.
pub(super) async fn token_not_in_browser(trial: &Trial<'_>) -> Outcome {
    let (ada, _) = whole_login(trial).await?;
    let haystacks = search::haystacks_of(&ada.browser, |_| true);
    absent("the access token is", search::find_token(&haystacks))
}

/// `cookie-holds-no-secret`: every value that the app gave any cookie during a login and
/// after it, decoded: random or encrypted, with nothing to read in it.
pub(super) async fn cookie_holds_no_secret(trial: &Trial<'_>) -> Outcome {
    let (ada, calls) = whole_login(trial).await?;
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
    let states = ada.browser.asked.iter();
    let states = states.filter_map(|url| Some(("the state", parameter(url, "state").ok()?)));
    secrets.texts.extend(marks.chain(states));
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
    let mut ada = trial.signed_in("browser A", "Ada").await?;
    ada.sign_out().await.ok();
    let mut browsers = vec![ada.browser, stray_visits(trial).await?];
    browsers.extend(after_faults(trial, &["lose_response", "html_502", "truncate"]).await?);
    let mut pages = Vec::new();
    for browser in &browsers {
        secrets.learn(trial.flow, browser);
        pages.extend(error_pages(trial, browser));
    }
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
    let own = trial.testbed.project();
    let own = own.map(|project| project.client_secret.as_str());
    own.or(trial.app.client_secret.as_deref())
}

/// Visits that end in errors: an unknown address and a callback out of turn, each with a
/// code, and with strange parameters.
async fn stray_visits(trial: &Trial<'_>) -> Outcome<Browser> {
    let mut ben = trial.user("browser B", "Ben");
    ben.begin().await?;
    let query = format!("code={}&state={}", random::secret(), random::secret());
    for address in [trial.callback()?, trial.testbed.at("/no-such-page")?] {
        for query in CORPORA.error_page.queries.iter().chain([&query]) {
            let mut url = address.clone();
            url.set_query(Some(query));
            ben.visit(Visit::typed(&url)).await?;
        }
    }
    Ok(ben.browser)
}

/// The app's error pages, as this browser saw them.
fn error_pages(trial: &Trial<'_>, browser: &Browser) -> Vec<Haystack> {
    let is_error = |page: &&Page| page.status >= 400 && trial.testbed.is_app(&page.url);
    let place = |page: &Page| format!("the error page {}", page.url.path());
    let pages = browser.seen.iter().filter(is_error);
    pages
        .map(|page| Haystack::new(place(page), &*page.body))
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

    /// Demands that no secret is written; `is` stands between it and its place.
    fn require_absent(&self, haystacks: &[Haystack], is: &str) -> Outcome {
        let texts = self.texts.iter();
        let texts = texts.map(|(secret, text)| (*secret, search::find_text(haystacks, text)));
        let verifier = search::find_verifier(haystacks, &self.challenges);
        let found = [
            ("a session key", search::find_key(haystacks, &self.logins)),
            ("an access token", search::find_token(haystacks)),
            ("a code_verifier", verifier),
        ];
        for (secret, place) in found.into_iter().chain(texts) {
            absent(&format!("{secret} {is}"), place)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use broker::model::LoginId;

    use super::*;

    #[test]
    fn each_secret_is_found_and_other_random_text_is_not() {
        let [code, verifier, key] = [(); 3].map(|()| random::secret());
        let login = LoginId::of_key(&key.parse().unwrap());
        let secrets = Secrets {
            texts: vec![
                ("a handoff code", code.clone()),
                ("the client secret", "s3cret-s3cret".to_owned()),
            ],
            challenges: HashSet::from([search::challenge(&verifier)]),
            logins: HashSet::from([login.as_str().to_owned()]),
        };
        let random = random::secret();
        for (line, expected) in [
            (format!("GET /cb?code={code} 303"), Some("a handoff code")),
            (format!("'verifier': '{verifier}'"), Some("a code_verifier")),
            (format!("sid=x{key}y"), Some("a session key")),
            (format!("Bearer fsi_{random}"), Some("an access token")),
            ("id:s3cret-s3cret".to_owned(), Some("the client secret")),
            (format!("request {random}"), None),
        ] {
            let text = lines_once("the log", &format!("start\n{line}\n{line}\n"));
            let stop = secrets.require_absent(&[text], "is").err();
            let expected = expected.map(|it| format!("{it} is in the log"));
            assert_eq!(stop.map(|it| it.actual), expected, "{line}");
        }
    }
}

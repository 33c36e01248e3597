//! Secrets: none is where a browser can see it, in the app's cookies, or in its logs.

use std::collections::HashSet;

use super::demands::{absent, parameter, some_cookies};
use super::failures::{calls_of, login_before};
use crate::app::Flow;
use crate::browser::{Browser, Page, Visit};
use crate::calls::Call;
use crate::random;
use crate::search::{self, Haystack};
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

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
    // The log knows a legacy login by its state, which is looked for by itself.
    let logins = match trial.flow {
        Flow::Clean => logins_of(&calls)?,
        Flow::Legacy => HashSet::new(),
    };
    let asked = |name| {
        let urls = ada.browser.asked.iter();
        urls.filter_map(move |url| parameter(url, name).ok())
    };
    let challenges = asked("code_challenge").collect();
    let key = search::find_key(&cookies, &logins);
    absent("the session key is readable", key)?;
    let verifier = search::find_verifier(&cookies, &challenges);
    absent("the code_verifier is readable", verifier)?;
    absent("the access token is readable", search::find_token(&cookies))?;
    for state in asked("state") {
        let place = search::find_text(&cookies, &state);
        absent("the state is readable", place)?;
    }
    let profile = [
        ("name", ada.person.name.as_ref()),
        ("username", ada.person.username.as_ref()),
        ("e-mail address", ada.person.email.as_ref()),
        ("id", Some(&ada.person.id)),
    ];
    for (what, value) in profile {
        let place = value.and_then(|it| search::find_text(&cookies, it));
        absent(&format!("the user's {what} is readable"), place)?;
    }
    Ok(())
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
    let found = secrets.find(&haystacks, client_secret(trial));
    require(found.is_none(), || {
        let (secret, place) = found.unwrap_or_default();
        format!("{secret} is in {place}")
    })
}

/// The secret of the project in this testbed: each testbed has a project of its own.
pub(super) fn client_secret<'t>(trial: &'t Trial<'_>) -> Option<&'t str> {
    let own = trial.testbed.project.as_ref();
    let own = own.map(|project| project.client_secret.as_str());
    own.or(trial.app.client_secret.as_deref())
}

/// Visits that end in errors: an unknown address and a callback out of turn, each with a
/// code, and a callback with a strange parameter.
async fn stray_visits(trial: &Trial<'_>) -> Outcome<Browser> {
    let mut browser = trial.browser("browser B");
    trial.begin(&mut browser).await?;
    let (code, state) = (random::secret(), random::secret());
    let queries = [
        format!("code={code}&state={state}"),
        "error=%00&state=%FF".to_owned(),
    ];
    for address in [trial.callback()?, trial.testbed.at("/no-such-page")?] {
        for query in &queries {
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
    codes: Vec<String>,
    challenges: HashSet<String>,
    logins: HashSet<String>,
}

impl Secrets {
    /// Learns the codes and the challenges that this browser carried. By the clean flow an
    /// app receives no code.
    fn learn(&mut self, flow: Flow, browser: &Browser) {
        for url in &browser.asked {
            if flow == Flow::Legacy {
                self.codes.extend(parameter(url, "code").ok());
            }
            self.challenges
                .extend(parameter(url, "code_challenge").ok());
        }
    }

    /// The first secret that is written, and its place.
    fn find(&self, haystacks: &[Haystack], client_secret: Option<&str>) -> Option<(&str, String)> {
        let text = |needle: &str| search::find_text(haystacks, needle);
        let code = || self.codes.iter().find_map(|code| text(code));
        let found = [
            ("the client secret", client_secret.and_then(text)),
            ("a session key", search::find_key(haystacks, &self.logins)),
            ("a handoff code", code()),
            ("an access token", search::find_token(haystacks)),
            (
                "a code_verifier",
                search::find_verifier(haystacks, &self.challenges),
            ),
        ];
        let mut found = found.into_iter();
        found.find_map(|(secret, place)| Some((secret, place?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    #[test]
    fn each_secret_is_found_in_a_log() {
        let code = random::secret();
        let verifier = random::secret();
        let secrets = Secrets {
            codes: vec![code.clone()],
            challenges: HashSet::from([search::challenge(&verifier)]),
            ..Secrets::default()
        };
        let token = format!("fsi_{}", random::secret());
        for (line, expected) in [
            (
                format!("GET /cb?code={code}&state=x 303"),
                Some("a handoff code"),
            ),
            (
                format!("{{'code_verifier': '{verifier}'}}"),
                Some("a code_verifier"),
            ),
            (
                format!("Authorization: Bearer {token}"),
                Some("an access token"),
            ),
            (
                "client_secret=s3cret-s3cret".to_owned(),
                Some("the client secret"),
            ),
            (format!("request {}", random::secret()), None),
        ] {
            let text = lines_once("the log", &format!("start\n{line}\n{line}\n"));
            let found = secrets.find(&[text], Some("s3cret-s3cret"));
            assert_eq!(found.map(|(secret, _)| secret), expected, "{line}");
        }
    }

    #[test]
    fn a_repeated_line_is_searched_once() {
        assert_eq!(lines_once("x", "a\nb\na\n").text, "a\nb");
    }

    #[test]
    fn a_search_for_the_keys_of_no_login_is_not_testable() {
        let stop = logins_of(&[]).unwrap_err();
        assert_eq!(stop.verdict, Verdict::NotTestable);
    }
}

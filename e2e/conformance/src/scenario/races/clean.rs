//! The races of the clean flow: for a session key, for an authorization URL, and for a
//! result, also while the browser comes back.

use agent::backend::Call;
use agent::browser::{Browser, Visit};
use agent::http::Response;
use serde_json::json;

use super::{
    Entry, all_of, check_arrived, check_once, everywhere, page, record_once, rounds, send_at_once,
};
use crate::expect::ensure;
use crate::http::Http;
use crate::project::QueuedUser;
use crate::race::{Answer, RACERS, accepted, check_not_busy, evidence};
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::scenario::clean::{self, Login};
use crate::scenario::sign_in::{self, UndeliveredCallback};
use crate::verdict::Stop;

const SESSION: &str = "a session key";
const VISIT: &str = "an authorization URL";
const RESULT: &str = "a result";
const RESULT_AND_CALLBACK: &str = "a result that is coming";

/// Races through logins, each from its key to its result.
pub(in crate::scenario) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    let names = [SESSION, VISIT, RESULT, RESULT_AND_CALLBACK];
    rounds(run, ("results", &names), 4, play_round).await
}

async fn play_round(run: &mut Run<'_>, round: usize) -> Result<(), Stop> {
    let Some(mut login) = start(run).await? else {
        return Ok(());
    };
    let mut callbacks = open(run, &login).await?;
    if callbacks.is_empty() {
        // The browsers may have hindered one another.
        login = clean::start(run, login.provider).await?;
        callbacks.push(clean::up_to_callback(run, &login).await?);
    }
    let read = run.plan.project.backend.result(&login.key);
    if round.is_multiple_of(2) {
        for callback in &mut callbacks {
            check_arrived(&callback.deliver(run).await?)?;
        }
        let answers = send_at_once(run, all_of(&read)).await?;
        check_result(run, RESULT, &read, answers).await.map(drop)
    } else {
        let answers = read_while_coming(run, round, &read, &mut callbacks).await?;
        let all = check_result(run, RESULT_AND_CALLBACK, &read, answers).await?;
        let is_lost = accepted(&all, terminal).is_empty()
            && all.last().is_some_and(Answer::is_refused)
            && !all.iter().any(Answer::is_undecided);
        let kept = ensure(!is_lost, "expected a read to bring the result");
        run.check_by(R::ResultPendingKeeps, evidence(&all, &[], "accepted"), kept);
        Ok(())
    }
}

/// Starts a login by many calls with one key; none if several have started one.
async fn start(run: &mut Run<'_>) -> Result<Option<Login>, Stop> {
    let provider = run.providers[0];
    if run.races().is_lost(SESSION) {
        return clean::start(run, provider).await.map(Some);
    }
    let key = run.new_secret("session_key");
    let call = run.plan.project.backend.start(&key, provider);
    let answers = send_at_once(run, all_of(&call)).await?;
    let url = |it: &Response| {
        let url = it.json()["authorization_url"].as_str()?.to_owned();
        it.is_success().then_some(url)
    };
    let mut urls = check_once(run, (SESSION, R::SessionKeyFresh), &answers, url)?;
    let Some(authorization_url) = urls.pop() else {
        // The calls may have hindered one another.
        return clean::start(run, provider).await.map(Some);
    };
    run.mask_secrets_of(&json!({ "authorization_url": authorization_url }));
    Ok(urls.is_empty().then_some(Login {
        key,
        authorization_url,
        provider,
    }))
}

/// Opens the authorization URL in many browsers, and signs in by two that were redirected to
/// the provider.
async fn open(run: &mut Run<'_>, login: &Login) -> Result<Vec<UndeliveredCallback>, Stop> {
    if run.races().is_lost(VISIT) {
        return Ok(vec![clean::up_to_callback(run, login).await?]);
    }
    sign_in::check_can_stop(run)?;
    let navigation = run.plan.navigation(&login.authorization_url);
    let visit = navigation.visit()?;
    let browser = Browser::new(run.http.clone());
    let visits = (0..RACERS).map(|_| Entry::Visit(&visit, &browser));
    let answers = send_at_once(run, visits.collect()).await?;
    let onward = |it: &Response| {
        let next = visit.redirected(it.status, &it.headers)?;
        (!navigation.is_at_consumer(&next.url)).then(|| (it.headers.clone(), next))
    };
    let (mut callbacks, mut shown) = (Vec::new(), Vec::new());
    for (answer, (headers, next)) in accepted(&answers, onward) {
        let mut browser = browser.clone();
        browser.jar.receive(&headers, &visit.url);
        if let Some(callback) = go_on(run, login, browser, next).await? {
            callbacks.push(callback);
            shown.push(answer);
        }
        if callbacks.len() == 2 {
            break;
        }
    }
    let race = (VISIT, R::UpstreamLoginOwnBrowser);
    record_once(run, race, &answers, &shown, "signed in")?;
    Ok(callbacks)
}

/// Lets a browser go on to the upstream callback; none if it is shown a page before.
async fn go_on(
    run: &mut Run<'_>,
    login: &Login,
    browser: Browser<Http>,
    next: Visit,
) -> Result<Option<UndeliveredCallback>, Stop> {
    let user = QueuedUser::default_at(login.provider);
    sign_in::queue(run, login.provider, &json!({ "person": user })).await?;
    match sign_in::go_on(run, browser, next).await {
        Ok(callback) => Ok(Some(callback)),
        Err(Stop::Blocked(_)) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Reads the result while the browsers come back.
async fn read_while_coming(
    run: &mut Run<'_>,
    round: usize,
    read: &Call,
    callbacks: &mut [UndeliveredCallback],
) -> Result<Vec<Answer>, Stop> {
    let first = round % (RACERS - callbacks.len());
    let mut entries = all_of(read);
    for (entry, callback) in entries[first..].iter_mut().zip(&*callbacks) {
        *entry = Entry::Visit(&callback.visit, &callback.browser);
    }
    let mut answers = send_at_once(run, entries).await?;
    let back: Vec<_> = answers.drain(first..first + callbacks.len()).collect();
    check_not_busy(&back)?;
    for (callback, answer) in callbacks.iter_mut().zip(back) {
        if let Some(response) = answer.responses.into_iter().next() {
            check_arrived(&callback.arrive(run, page(response)).await?)?;
        }
    }
    Ok(answers)
}

/// Reads the result further, twice at each address, and checks that all reads together have
/// brought it once. Returns the answers to all.
async fn check_result(
    run: &mut Run<'_>,
    name: &'static str,
    read: &Call,
    mut answers: Vec<Answer>,
) -> Result<Vec<Answer>, Stop> {
    for _ in 0..2 {
        answers.extend(everywhere(run, read).await?);
    }
    check_once(run, (name, R::ResultOnce), &answers, terminal)?;
    Ok(answers)
}

/// A result that is no longer pending.
fn terminal(response: &Response) -> Option<()> {
    let body = response.json();
    let status = body["status"].as_str().filter(|_| response.is_success())?;
    matches!(status, "succeeded" | "failed").then_some(())
}

//! The races for everything that may be used once: many requests at once, spread over all the
//! addresses of the broker. What they bring is tried for use.

pub(super) mod clean;
pub(super) mod legacy;

use std::time::Duration;

use agent::backend::Call;
use agent::browser::{Arrival, Browser, Page, Visit};
use agent::http::Response;
use agent::race::Racer;
use agent::time::pause;

use super::clean as clean_flow;
use crate::expect::ensure;
use crate::http::{Http, RawRequest};
use crate::mask;
use crate::race::{Answer, RACERS, accepted, built, check_not_busy, evidence};
use crate::requirement::Requirement as R;
use crate::run::{Expiry, Run};
use crate::verdict::Stop;

/// The time for which a run waits for a busy broker, and the tries of one round.
const PATIENCE_SECONDS: u64 = 300;
const MAX_TRIES: u64 = 8;

/// The time after which limits of requests a minute have refilled.
const REFILL_SECONDS: u64 = 60;

/// Asks each address about a login that was started at one of them.
pub(super) async fn ask_every_address(run: &mut Run<'_>) -> Result<(), Stop> {
    let login = clean_flow::start(run, run.providers[0]).await?;
    let read = run.plan.project.backend.result(&login.key);
    let answers = everywhere(run, &read).await?;
    check_not_busy(&answers)?;
    for answer in answers.iter().filter(|it| !it.is_undecided()) {
        let body = answer.response().map(Response::json).unwrap_or_default();
        let is_pending = ensure(
            body["status"] == "pending",
            "expected every address to know a login that was started at one of them",
        );
        let evidence = evidence(std::slice::from_ref(answer), &[answer], "answered");
        run.check_by(R::ResultPending, evidence, is_pending);
    }
    Ok(())
}

/// Plays `1 / share` of the plan's rounds, or fewer if each of these races is lost before. A
/// busy broker gets time, and the round is played again.
async fn rounds(
    run: &mut Run<'_>,
    (title, names): (&str, &[&'static str]),
    share: usize,
    mut play: impl AsyncFnMut(&mut Run<'_>, usize) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let count = run.races().rounds(share);
    let (mut round, mut tries) = (0, 0);
    while round < count && !names.iter().all(|name| run.races().is_lost(name)) {
        if round > 0 && round.is_multiple_of(count.div_ceil(4)) {
            run.report_progress(&format!("Racing for {title}: {round} of {count} rounds"));
        }
        match play(run, round).await {
            Ok(()) => (round, tries) = (round + 1, 0),
            Err(Stop::Busy(status, seconds)) if tries < MAX_TRIES => {
                tries += 1;
                wait_for_busy(run, status, seconds.unwrap_or(0) + tries).await?;
            }
            Err(stop) if round == 0 => return Err(stop),
            // What went well before has no known reason to fail now.
            Err(stop) => {
                let reason = stop.into_reason();
                return Err(Stop::Harness(format!(
                    "the races for {title} ended after {round} of {count} rounds: {reason}"
                )));
            }
        }
    }
    Ok(())
}

/// Gives the broker time; or moves its clock on, by which this kit's broker counts requests.
async fn wait_for_busy(run: &mut Run<'_>, status: u16, seconds: u64) -> Result<(), Stop> {
    let seconds = seconds.min(REFILL_SECONDS);
    run.races().waited_seconds += seconds;
    if run.races().waited_seconds > PATIENCE_SECONDS {
        return Err(Stop::Harness(Stop::Busy(status, None).into_reason()));
    }
    match &run.plan.control {
        Some(control) if status == 429 && run.plan.expiry == Expiry::ByControl => {
            Ok(control.advance(REFILL_SECONDS).await?)
        }
        _ => {
            pause(Duration::from_secs(seconds)).await;
            Ok(())
        }
    }
}

/// The part of one participant in a race.
enum Entry<'e> {
    Call(&'e Call),
    /// The second call follows the answer to the first.
    CallThen(&'e Call, &'e Call),
    Visit(&'e Visit, &'e Browser<Http>),
}

/// The same call for every participant.
fn all_of(call: &Call) -> Vec<Entry<'_>> {
    (0..RACERS).map(|_| Entry::Call(call)).collect()
}

/// Sends a call to each address at once.
async fn everywhere(run: &mut Run<'_>, call: &Call) -> Result<Vec<Answer>, Stop> {
    let addresses = run.races().connections.endpoints.len();
    let entries = (0..addresses).map(|_| Entry::Call(call)).collect();
    send_at_once(run, entries).await
}

async fn send_at_once(run: &mut Run<'_>, entries: Vec<Entry<'_>>) -> Result<Vec<Answer>, Stop> {
    let (http, base_url) = (&run.http, run.plan.base_url.as_str());
    let build = |call: &Call| {
        let request = RawRequest::from(call.clone());
        let sent = http.build(base_url, &request).map_err(Stop::Harness)?;
        Ok::<_, Stop>((request.masked(), built(sent)?))
    };
    let (mut texts, mut racers) = (Vec::new(), Vec::new());
    for entry in entries {
        let (text, request, then) = match entry {
            Entry::Call(call) => {
                let (text, request) = build(call)?;
                (text, request, None)
            }
            Entry::CallThen(call, then) => {
                let ((text, request), (then_text, then)) = (build(call)?, build(then)?);
                (format!("{text}, then {then_text}"), request, Some(then))
            }
            Entry::Visit(visit, browser) => {
                let address = visit.address();
                let client = http.client_for(address).map_err(Stop::Harness)?;
                let request = visit.request(client, address, visit.headers(&browser.jar));
                let text = format!("a browser, to {}", mask::url(address));
                (text, built(request)?, None)
            }
        };
        texts.push(text);
        racers.push(Racer { request, then });
    }
    let answers = run.races().connections.send_at_once(&racers).await;
    let answers = texts.into_iter().zip(answers);
    let answers = answers.map(|(sent, (at, responses))| Answer {
        at,
        sent,
        responses: responses.unwrap_or_default(),
    });
    Ok(answers.collect())
}

/// Records that at most one answer brought what was asked for, and returns all that was
/// brought. A round of which a busy broker has decided nothing is none.
fn check_once<T>(
    run: &mut Run<'_>,
    race: (&'static str, R),
    answers: &[Answer],
    brought: impl Fn(&Response) -> Option<T>,
) -> Result<Vec<T>, Stop> {
    let accepted = accepted(answers, brought);
    let shown: Vec<_> = accepted.iter().map(|(answer, _)| *answer).collect();
    record_once(run, race, answers, &shown, "accepted")?;
    Ok(accepted.into_iter().map(|(_, it)| it).collect())
}

/// The same for answers of which these were accepted, as `what` says.
fn record_once(
    run: &mut Run<'_>,
    (name, requirement): (&'static str, R),
    answers: &[Answer],
    accepted: &[&Answer],
    what: &str,
) -> Result<(), Stop> {
    let is_lost = accepted.len() > 1;
    if !is_lost {
        check_not_busy(answers)?;
    }
    run.races().note(name, accepted.len(), is_lost);
    let evidence = evidence(answers, accepted, what);
    let once = ensure(!is_lost, "expected at most one of them to be accepted");
    run.check_by(requirement, evidence, once);
    Ok(())
}

/// A response to a browser.
fn page(response: Response) -> Page {
    Page {
        body: response.text(),
        url: response.url,
        status: response.status,
        headers: response.headers,
    }
}

/// Stops a round whose browser a busy broker has not sent back.
fn check_arrived(end: &Arrival) -> Result<(), Stop> {
    match end {
        Arrival::Stopped(_) => Ok(()),
        Arrival::Page(page) => Stop::if_busy(page.status, &page.headers).map_or(Ok(()), Err),
    }
}

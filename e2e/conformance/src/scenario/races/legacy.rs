//! The races of the legacy flow: for a provider's answer, for a code, and with an access token
//! that is revoked.

use agent::backend::Call;
use agent::browser::Arrival;
use agent::http::Response;

use super::{Entry, all_of, check_arrived, everywhere, page, record_once, rounds, send_at_once};
use crate::expect::ensure;
use crate::http::RawRequest;
use crate::race::{Answer, RACERS, accepted, check_not_busy, evidence};
use crate::requirement::Requirement as R;
use crate::run::Run;
use crate::scenario::delivery::{self, code_at};
use crate::scenario::legacy::token_in;
use crate::verdict::Stop;

const CALLBACK: &str = "a provider's answer";
const CODE: &str = "a code";
const REPLAY: &str = "a code, by two";
const TOKEN: &str = "a profile after the revocation";

/// The deliveries of providers' answers are few: this kit's broker limits them for each
/// address.
const CALLBACK_SHARE: usize = 20;

/// Races for codes, the first of them from many deliveries of the provider's answer.
pub(in crate::scenario) async fn codes(run: &mut Run<'_>) -> Result<(), Stop> {
    rounds(run, ("codes", &[CODE]), 1, async |run, round| {
        let races = run.races();
        let redeem = match round < races.rounds(CALLBACK_SHARE) && !races.is_lost(CALLBACK) {
            true => race_for_callback(run).await?,
            false => Some(obtain_code(run).await?),
        };
        match redeem {
            Some(redeem) => race_for_code(run, CODE, &redeem, RACERS).await,
            None => Ok(()),
        }
    })
    .await
}

/// Races each exchange against one replay.
pub(in crate::scenario) async fn replays(run: &mut Run<'_>) -> Result<(), Stop> {
    rounds(run, ("replays", &[REPLAY]), 4, async |run, _| {
        let redeem = obtain_code(run).await?;
        race_for_code(run, REPLAY, &redeem, 2).await
    })
    .await
}

/// Signs in, and returns the exchange of the code.
async fn obtain_code(run: &mut Run<'_>) -> Result<Call, Stop> {
    let (login, mut callback) = delivery::start_legacy(run).await?;
    let end = callback.deliver(run).await?;
    check_arrived(&end)?;
    let code = code_at(&end);
    let code = code.ok_or_else(|| Stop::blocked("the legacy callback brought no code"))?;
    Ok(run.plan.project.backend.redeem(&code, &login.verifier))
}

/// Delivers a provider's answer many times in its own browser, and returns the exchange of
/// its code; none if it has brought several.
async fn race_for_callback(run: &mut Run<'_>) -> Result<Option<Call>, Stop> {
    let (login, mut callback) = delivery::start_legacy(run).await?;
    let deliveries = (0..RACERS).map(|_| Entry::Visit(&callback.visit, &callback.browser));
    let answers = send_at_once(run, deliveries.collect()).await?;
    let (mut codes, mut shown) = (Vec::new(), Vec::new());
    for (answer, response) in accepted(&answers, |it| Some(it.clone())) {
        let end = callback.arrive(run, page(response)).await?;
        if let (Some(code), Arrival::Stopped(_)) = (code_at(&end), &end) {
            codes.push(code);
            shown.push(answer);
        }
    }
    let backend = &run.plan.project.backend;
    let redeem = |code: String| backend.redeem(&code, &login.verifier);
    let mut exchanges: Vec<_> = codes.into_iter().map(redeem).collect();
    let mut what = "brought a code".to_owned();
    if exchanges.len() > 1 {
        let entries = exchanges.iter().map(Entry::Call).collect();
        let tokens = send_at_once(run, entries).await?;
        let redeemed = accepted(&tokens, token).len();
        what += &format!(" ({redeemed} of the codes were redeemed)");
    }
    record_once(
        run,
        (CALLBACK, R::UpstreamLoginOnce),
        &answers,
        &shown,
        &what,
    )?;
    match exchanges.pop() {
        Some(exchange) => Ok(exchanges.is_empty().then_some(exchange)),
        // The deliveries may have hindered one another.
        None => obtain_code(run).await.map(Some),
    }
}

/// Redeems a code many times at once, and uses the tokens.
async fn race_for_code(
    run: &mut Run<'_>,
    name: &'static str,
    redeem: &Call,
    count: usize,
) -> Result<(), Stop> {
    let mut entries = all_of(redeem);
    entries.truncate(count);
    let answers = send_at_once(run, entries).await?;
    let tokens = accepted(&answers, token);
    let mut used = 0;
    let mut profiles = Vec::new();
    for (_, token) in &tokens {
        profiles = everywhere(run, &Call::profile(token)).await?;
        used += usize::from(profiles.iter().any(is_success));
    }
    let shown: Vec<_> = tokens.iter().map(|(answer, _)| *answer).collect();
    let what = format!("accepted (then {used} of the tokens had a profile)");
    record_once(run, (name, R::CodeOnce), &answers, &shown, &what)?;
    if let ([winner], true) = (&*shown, answers.iter().any(Answer::is_refused)) {
        let evidence = evidence(&answers, &[winner], &what);
        check_not_busy(&profiles)?;
        let ended = ensure(used == 0, "this kit ends the token then");
        run.check_by(R::CodeReplayEndsToken, evidence, ended);
    }
    Ok(())
}

/// Uses tokens at once that are revoked then, or at the same time.
pub(in crate::scenario) async fn tokens(run: &mut Run<'_>) -> Result<(), Stop> {
    rounds(run, ("tokens", &[TOKEN]), 4, play_token).await
}

async fn play_token(run: &mut Run<'_>, round: usize) -> Result<(), Stop> {
    let redeem = obtain_code(run).await?;
    let exchange = run.send(RawRequest::from(redeem)).await?;
    let token = token_in(&exchange);
    let token = token.ok_or_else(|| Stop::blocked("a fresh code was not redeemed"))?;
    let (profile, revoke) = (Call::profile(&token), Call::revoke(&token));
    let mut late = Vec::new();
    if round.is_multiple_of(2) {
        for (requirement, call) in [(R::ProfileBearer, &profile), (R::RevokeIdempotent, &revoke)] {
            let answers = send_at_once(run, all_of(call)).await?;
            check_not_busy(&answers)?;
            let refused: Vec<_> = answers.iter().filter(|it| it.is_refused()).collect();
            let none = ensure(refused.is_empty(), "expected each of them to be accepted");
            run.check_by(requirement, evidence(&answers, &refused, "refused"), none);
        }
    } else {
        let mut entries = all_of(&profile);
        // In the midst of them: some are under way when it arrives.
        let at = (RACERS / 2 + round) % RACERS;
        entries[at] = Entry::CallThen(&revoke, &profile);
        let mut revoked = send_at_once(run, entries).await?.swap_remove(at);
        check_not_busy(std::slice::from_ref(&revoked))?;
        if !is_success(&revoked) {
            return Err(Stop::blocked("a token could not be revoked"));
        }
        // The profile that was asked for after the revocation was answered.
        revoked.responses.remove(0);
        late.push(revoked);
    }
    late.extend(everywhere(run, &profile).await?);
    let served: Vec<_> = late.iter().filter(|it| is_success(it)).collect();
    if served.is_empty() {
        check_not_busy(&late)?;
    }
    run.races().note(TOKEN, served.len(), !served.is_empty());
    let none = ensure(
        served.is_empty(),
        "expected no profile after the revocation",
    );
    let evidence = evidence(&late, &served, "had a profile after the revocation");
    run.check_by(R::BearerEnded, evidence, none);
    Ok(())
}

fn is_success(answer: &Answer) -> bool {
    answer.response().is_some_and(Response::is_success)
}

/// The access token in a response.
fn token(response: &Response) -> Option<String> {
    let body = response.json();
    let token = body["access_token"]
        .as_str()
        .filter(|_| response.is_success())?;
    Some(token.to_owned())
}

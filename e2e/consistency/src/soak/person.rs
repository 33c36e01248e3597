//! People who sign in, by either flow at either provider, with a backend and a
//! browser that repeat themselves, come late, or come twice.

mod clean;
mod legacy;

use std::sync::Arc;
use std::time::Duration;

use broker::model::LoginId;
use mock_upstream::Provider;
use rocket::futures::future::join_all;

use super::hostile;
use super::stage::Stage;
use super::story::{Deed, Flow, Story};
use crate::Failure;
use crate::chance::Chance;
use crate::client::{Answer, Request, Transaction};
use clean::Clean;
use legacy::Legacy;

/// How often somebody tries who hears nothing.
const TRIES: usize = 6;

/// One login after the other, until it is over.
pub(crate) async fn go_on(stage: Arc<Stage>, seed: u64, most: u64) -> Result<(), Failure> {
    while !stage.is_over() {
        stage.is_there().await;
        let mut index = 0;
        stage.begun.send_modify(|begun| {
            *begun += 1;
            index = *begun;
        });
        if index > most {
            return Ok(());
        }
        let mut chance = Chance::of(seed, index);
        let story = sign_in(&stage, index, &mut chance).await?;
        stage.close(&story).await;
        if chance.below(10) == 0 {
            stage.look_at_providers().await;
        }
        if chance.below(3) == 0 {
            hostile::one(&stage, &mut chance).await;
        }
    }
    Ok(())
}

async fn sign_in(stage: &Stage, index: u64, chance: &mut Chance) -> Result<Story, Failure> {
    let provider = Provider::ALL[chance.below(2)];
    if chance.coin() {
        let key = chance.secret();
        let login = LoginId::of_key(&key.parse().map_err(|_| "a key has its form")?);
        let story = Story::new(index, Flow::Clean, provider, &login);
        Clean { stage, key, story }.play(chance).await
    } else {
        let kept = Transaction::fresh(chance);
        let state = kept.state.parse().map_err(|_| "a state has its form")?;
        let login = LoginId::of_state(&state);
        let story = Story::new(index, Flow::Legacy, provider, &login);
        Legacy { stage, kept, story }.play(chance).await
    }
}

/// To the provider and back, once or several times with the same callback. The
/// answers that came.
async fn arrive(
    stage: &Stage,
    story: &mut Story,
    departure: &Answer,
    chance: &mut Chance,
) -> Result<Vec<Answer>, Failure> {
    let (deed, arrival) = stage.cast(story, departure, chance).await?;
    let cast = story.casts.last().cloned().ok_or("somebody was there")?;
    if chance.below(8) == 0 {
        let stray = arrival.with_cookies("");
        stage.ask(story, Deed::Stray, &stray).await;
    }
    dawdle(chance).await;
    let times = 1 + usize::from(chance.below(6) == 0);
    let mut answers = Vec::new();
    for _ in 0..1 + usize::from(chance.below(6) == 0) {
        let returns = (0..times).map(|_| stage.come_back(deed, &cast, &arrival));
        for (telling, answer) in join_all(returns).await {
            story.take(telling, answer.as_ref());
            answers.extend(answer);
        }
    }
    stage.shadow(story, deed);
    Ok(answers)
}

/// The same request so many times at once.
async fn at_once(
    stage: &Stage,
    story: &mut Story,
    deed: Deed,
    request: &Request,
    times: usize,
) -> Vec<Option<Answer>> {
    let asked = (0..times).map(|_| stage.telling(deed, request));
    let mut answers = Vec::new();
    for (telling, answer) in join_all(asked).await {
        story.take(telling, answer.as_ref());
        answers.push(answer);
    }
    answers
}

/// Asks until somebody answers, but not for ever.
async fn insist(stage: &Stage, story: &mut Story, deed: Deed, request: &Request) -> Option<Answer> {
    for _ in 0..TRIES {
        let answer = stage.ask(story, deed, request).await;
        if answer.is_some() {
            return answer;
        }
        stage.is_there().await;
    }
    None
}

/// Some take their time, and much may happen meanwhile.
#[expect(
    clippy::disallowed_methods,
    reason = "people who are slow, while brokers come and go"
)]
async fn dawdle(chance: &mut Chance) {
    if chance.below(20) == 0 {
        let ms = 50 + chance.below(1_500) as u64;
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

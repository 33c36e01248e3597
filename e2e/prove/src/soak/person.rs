//! People who sign in, by either flow at either provider, with a backend and a
//! browser that repeat themselves, come late, or come twice.

use std::sync::Arc;
use std::time::Duration;

use broker::flows::Fingerprint;
use mock_upstream::Provider;
use rocket::futures::future::join_all;

use super::hostile;
use super::stage::Stage;
use super::story::{Deed, Flow, Story, Told};
use crate::Failure;
use crate::chance::Chance;
use crate::client::{Answer, Request, Transaction};

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
        let login = Fingerprint::of_key(&key.parse().map_err(|_| "a key has its form")?);
        let story = Story::new(index, Flow::Clean, provider, &login);
        Clean { stage, key, story }.play(chance).await
    } else {
        let kept = Transaction::fresh(chance);
        let state = kept.state.parse().map_err(|_| "a state has its form")?;
        let login = Fingerprint::of_state(&state);
        let story = Story::new(index, Flow::Legacy, provider, &login);
        Legacy { stage, kept, story }.play(chance).await
    }
}

/// A login by the clean flow.
struct Clean<'a> {
    stage: &'a Stage,
    key: String,
    story: Story,
}

impl Clean<'_> {
    async fn play(mut self, chance: &mut Chance) -> Result<Story, Failure> {
        let Some(url) = self.open(chance).await else {
            self.read(1).await;
            return Ok(self.story);
        };
        if chance.below(4) == 0 {
            self.read(1).await;
        }
        // Whoever hears nothing on the way home begins again where it began.
        let mut cookies = String::new();
        for _ in 0..2 {
            dawdle(chance).await;
            if self.is_home(&url, &mut cookies, chance).await? {
                break;
            }
        }
        dawdle(chance).await;
        self.read(1 + chance.below(3)).await;
        self.read_to_the_end().await;
        Ok(self.story)
    }

    /// The authorization URL, if it came.
    async fn open(&mut self, chance: &mut Chance) -> Option<String> {
        let open = Request::Open {
            key: self.key.clone(),
            provider: self.story.provider.name(),
        };
        let times = 1 + usize::from(chance.below(8) == 0);
        let answers = at_once(self.stage, &mut self.story, Deed::Open, &open, times).await;
        let opened = answers.into_iter().flatten().find(|it| it.status == 200)?;
        Some(opened.text("authorization_url"))
    }

    /// The browser's part, once. Whether it came home.
    async fn is_home(
        &mut self,
        url: &str,
        cookies: &mut String,
        chance: &mut Chance,
    ) -> Result<bool, Failure> {
        let (stage, story) = (self.stage, &mut self.story);
        let visit = Request::visit(url, cookies);
        let Some(departure) = insist(stage, story, Deed::Visit, &visit).await else {
            return Ok(false);
        };
        if story.tellings.last().map(|it| &it.told) != Some(&Told::Departed) {
            return Ok(true);
        }
        cookies.clone_from(&departure.cookies);
        if chance.below(8) == 0 {
            stage
                .ask(story, Deed::Intrude, &visit.with_cookies(""))
                .await;
        }
        come_home(stage, story, &departure, chance).await
    }

    /// Reads the result so many times at once.
    async fn read(&mut self, times: usize) {
        let read = self.request();
        at_once(self.stage, &mut self.story, Deed::Read, &read, times).await;
    }

    /// Reads it until it is told that there is nothing to read.
    async fn read_to_the_end(&mut self) {
        let read = self.request();
        for _ in 0..TRIES {
            self.stage.ask(&mut self.story, Deed::Read, &read).await;
            let told = self.story.tellings.last().map(|it| &it.told);
            if matches!(told, Some(Told::Refused(_) | Told::Pending)) {
                return;
            }
            self.stage.is_there().await;
        }
    }

    fn request(&self) -> Request {
        Request::Result {
            key: self.key.clone(),
        }
    }
}

/// A login by the legacy flow.
struct Legacy<'a> {
    stage: &'a Stage,
    kept: Transaction,
    story: Story,
}

impl Legacy<'_> {
    async fn play(mut self, chance: &mut Chance) -> Result<Story, Failure> {
        let begin = Request::visit(&self.kept.authorize_url(self.story.provider.name()), "");
        let departure = insist(self.stage, &mut self.story, Deed::Visit, &begin).await;
        let Some(departure) = departure.filter(|it| it.status == 303) else {
            return Ok(self.story);
        };
        dawdle(chance).await;
        let arrivals = arrive(self.stage, &mut self.story, &departure, chance).await?;
        if let Some(code) = arrivals.iter().find_map(Answer::code) {
            self.redeem(code, chance).await;
        }
        Ok(self.story)
    }

    async fn redeem(&mut self, code: String, chance: &mut Chance) {
        let (stage, story) = (self.stage, &mut self.story);
        dawdle(chance).await;
        if chance.below(6) == 0 {
            let forged = Request::Redeem {
                kept: Transaction::fresh(chance),
                code: code.clone(),
            };
            stage.ask(story, Deed::RedeemWrongly, &forged).await;
        }
        let kept = self.kept.clone();
        let redeem = Request::Redeem { kept, code };
        let times = 1 + usize::from(chance.below(6) == 0);
        let answers = at_once(stage, story, Deed::Redeem, &redeem, times).await;
        let issued = answers.into_iter().flatten().find(|it| it.status == 200);
        let token = issued.map(|it| it.text("access_token"));
        if let Some(token) = &token {
            self.use_token(token, chance).await;
        }
        insist(self.stage, &mut self.story, Deed::Redeem, &redeem).await;
        if let Some(token) = token {
            let profile = Request::Profile { token };
            insist(self.stage, &mut self.story, Deed::Profile, &profile).await;
        }
    }

    async fn use_token(&mut self, token: &str, chance: &mut Chance) {
        let (stage, story) = (self.stage, &mut self.story);
        let token = token.to_owned();
        let profile = Request::Profile {
            token: token.clone(),
        };
        for _ in 0..1 + chance.below(3) {
            stage.ask(story, Deed::Profile, &profile).await;
            dawdle(chance).await;
        }
        if chance.below(3) == 0 {
            stage
                .ask(story, Deed::Revoke, &Request::Revoke { token })
                .await;
            stage.ask(story, Deed::Profile, &profile).await;
        }
    }
}

/// From the provider home, if it can be. Whether somebody answered.
async fn come_home(
    stage: &Stage,
    story: &mut Story,
    departure: &Answer,
    chance: &mut Chance,
) -> Result<bool, Failure> {
    let arrivals = arrive(stage, story, departure, chance).await?;
    Ok(!arrivals.is_empty())
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

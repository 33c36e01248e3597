//! A login by the legacy flow.

use super::{arrive, at_once, dawdle, insist};
use crate::Failure;
use crate::chance::Chance;
use crate::client::{Answer, Request, Transaction};
use crate::soak::stage::Stage;
use crate::soak::story::{Deed, Story};

/// A login by the legacy flow.
pub(super) struct Legacy<'a> {
    pub(super) stage: &'a Stage,
    pub(super) kept: Transaction,
    pub(super) story: Story,
}

impl Legacy<'_> {
    /// Plays it to its end.
    pub(super) async fn play(mut self, chance: &mut Chance) -> Result<Story, Failure> {
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

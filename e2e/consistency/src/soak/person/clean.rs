//! A login by the clean flow.

use super::{TRIES, arrive, at_once, dawdle, insist};
use crate::Failure;
use crate::chance::Chance;
use crate::client::Request;
use crate::soak::stage::Stage;
use crate::soak::story::{Deed, Story};
use crate::soak::told::Told;

/// A login by the clean flow.
pub(super) struct Clean<'a> {
    pub(super) stage: &'a Stage,
    pub(super) key: String,
    pub(super) story: Story,
}

impl Clean<'_> {
    /// Plays it to its end.
    pub(super) async fn play(mut self, chance: &mut Chance) -> Result<Story, Failure> {
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
        let arrivals = arrive(stage, story, &departure, chance).await?;
        Ok(!arrivals.is_empty())
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

//! A login by the clean flow.

use super::{TRIES, User};
use crate::RunError;
use crate::login::{Browser, Started, UpstreamVisit};
use crate::model::Answer;
use crate::operation::Outcome;

/// The outcome of a browser's attempt.
enum Attempt {
    /// It is on its way to the provider.
    AtProvider(UpstreamVisit),
    /// It is back, or was refused.
    Over,
    /// No answer came.
    Unanswered,
}

impl User<'_> {
    /// Plays the login to its end.
    pub(super) async fn play_clean(&mut self) -> Result<(), RunError> {
        let Some(started) = self.start().await else {
            self.read_at_once(1).await;
            return Ok(());
        };
        if self.random.one_in(4) {
            self.read_at_once(1).await;
        }
        // A browser that gets no answer on its way back begins again where it began.
        let mut browser = self.login.browser();
        for _ in 0..2 {
            self.think().await;
            if self.is_back(&started, &mut browser).await? {
                break;
            }
        }
        self.think().await;
        let times = 1 + self.random.below(3);
        self.read_at_once(times).await;
        self.read_until_over().await;
        Ok(())
    }

    async fn start(&mut self) -> Option<Started> {
        let times = 1 + usize::from(self.random.one_in(8));
        let starts: Vec<_> = (0..times).map(|_| self.login.start()).collect();
        let responses = self.perform_all(&starts).await;
        let pairs = starts.iter().zip(&responses);
        pairs
            .into_iter()
            .find_map(|(call, response)| Started::by(call, response.as_ref()?))
    }

    /// The browser's part, once: whether it needs no further one.
    async fn is_back(
        &mut self,
        started: &Started,
        browser: &mut Browser,
    ) -> Result<bool, RunError> {
        let mut attempt = Attempt::Unanswered;
        for _ in 0..TRIES {
            attempt = self.visit(started, browser).await;
            if !matches!(attempt, Attempt::Unanswered) {
                break;
            }
            self.context.wait_until_running().await;
        }
        let visit = match attempt {
            Attempt::Unanswered => return Ok(false),
            Attempt::Over => return Ok(true),
            Attempt::AtProvider(visit) => visit,
        };
        *browser = visit.browser.clone();
        if self.random.one_in(8) {
            let other = self.login.browser();
            let intrusion = self.login.visit(started, &other);
            self.perform(&intrusion).await;
        }
        let responses = self.sign_in_at_provider(&visit).await?;
        Ok(!responses.is_empty())
    }

    /// Opens the authorization URL; where the confirmation page asks, presses one of its
    /// buttons.
    async fn visit(&mut self, started: &Started, browser: &mut Browser) -> Attempt {
        if browser.has_no_cookies() {
            // It is not the browser of an earlier visit that was not answered.
            *browser = self.login.browser();
        }
        let visit = match self.random.one_in(4) {
            true => self.login.visit_unvouched(started, browser),
            false => self.login.visit(started, browser),
        };
        let Some(response) = self.perform(&visit).await else {
            return Attempt::Unanswered;
        };
        if self.last_outcome() != Some(&Outcome::Answered(Answer::ConfirmationPage)) {
            let at_provider = UpstreamVisit::by(&visit, browser, &response);
            return at_provider.map_or(Attempt::Over, Attempt::AtProvider);
        }
        if self.random.one_in(3) {
            let cancel = self.login.press_cancel(started, browser);
            return match self.perform(&cancel).await {
                Some(_) => Attempt::Over,
                None => Attempt::Unanswered,
            };
        }
        let go_on = self.login.press_continue(started, browser);
        let Some(response) = self.perform(&go_on).await else {
            return Attempt::Unanswered;
        };
        let at_provider = UpstreamVisit::by(&go_on, browser, &response);
        at_provider.map_or(Attempt::Over, Attempt::AtProvider)
    }

    async fn read_at_once(&mut self, times: usize) {
        let reads = vec![self.login.read(); times];
        self.perform_all(&reads).await;
    }

    /// Reads until the answer is that there is nothing to read.
    async fn read_until_over(&mut self) {
        let read = self.login.read();
        for _ in 0..TRIES {
            self.perform(&read).await;
            if let Some(Outcome::Answered(Answer::Refused | Answer::Pending)) = self.last_outcome()
            {
                return;
            }
            self.context.wait_until_running().await;
        }
    }
}

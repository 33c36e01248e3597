//! What is known of one login when its broker dies, and what must be true of it
//! afterwards.
//!
//! A step that was answered stands. One whose answer never came may stand or not,
//! but it cannot do both, and from the first answer on it stays the same.

use crate::Failure;
use crate::client::{Answer, Client, Request, at_provider};
use crate::history::Heard::{self, Granted, NotYet, Refused};

/// How far a step is known to have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Step {
    /// Nobody asked for it.
    #[default]
    NotAsked,
    /// It was asked for, and not answered.
    Unanswered,
    /// It was answered.
    Answered,
}

/// A login by either flow.
#[derive(Debug)]
pub(crate) enum Memory {
    Clean(Clean),
    Legacy(Legacy),
}

/// A login that was opened, and was answered so.
#[derive(Debug)]
pub(crate) struct Clean {
    pub(crate) open: Request,
    pub(crate) result: Request,
    /// At the authorization URL, with the cookies of the browser that claimed it.
    pub(crate) visit: Request,
    pub(crate) claimed: Step,
    pub(crate) delivered: Step,
    pub(crate) read: Step,
}

/// A login whose browser is back from its provider.
#[derive(Debug)]
pub(crate) struct Legacy {
    pub(crate) arrive: Request,
    pub(crate) delivered: Step,
    /// From when its code came home.
    pub(crate) redeem: Option<Request>,
    pub(crate) redeemed: Step,
    /// From when its token was issued.
    pub(crate) token: Option<String>,
    pub(crate) revoked: Step,
}

/// What died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    Broker,
    /// While the broker lived: it sends browsers home though it could not note
    /// how their logins ended, and the backend hears `pending`.
    Database,
}

/// Asks a broker that is there again, and counts what it was asked.
pub(crate) struct Inquiry<'a> {
    pub(crate) client: &'a Client,
    pub(crate) broker: &'a str,
    pub(crate) death: Death,
    pub(crate) facts: u64,
}

impl Inquiry<'_> {
    /// Asks for everything that must be true of `memory`.
    pub(crate) async fn about(&mut self, memory: &Memory) -> Result<(), Failure> {
        let outcome = match memory {
            Memory::Clean(login) => self.about_clean(login).await,
            Memory::Legacy(login) => self.about_legacy(login).await,
        };
        outcome.map_err(|why| format!("{why}\n{memory:#?}").into())
    }

    async fn about_clean(&mut self, login: &Clean) -> Result<(), Failure> {
        if self.take(login, self.hoped(login)).await? == NotYet {
            self.others_are_kept_out(login).await?;
            self.recover(login).await?;
        }
        self.expect(&login.open, &[Refused]).await.map(drop)
    }

    /// What its result may be. A database that died may have left a browser that
    /// came home without its outcome.
    fn hoped(&self, login: &Clean) -> &'static [Heard] {
        match (login.read, login.delivered, self.death) {
            (Step::Answered, _, _) => &[Refused],
            (Step::Unanswered, _, Death::Broker) => &[Granted, Refused],
            (Step::Unanswered, _, Death::Database) => &[Granted, Refused, NotYet],
            (Step::NotAsked, Step::Answered, Death::Broker) => &[Granted],
            (Step::NotAsked, Step::NotAsked, _) => &[NotYet],
            (Step::NotAsked, Step::Unanswered | Step::Answered, _) => &[Granted, NotYet],
        }
    }

    /// Takes the result, and sees that it is gone then.
    async fn take(&mut self, login: &Clean, hoped: &[Heard]) -> Result<Heard, Failure> {
        let (heard, _) = self.expect(&login.result, hoped).await?;
        if heard == Granted {
            self.expect(&login.result, &[Refused]).await?;
        }
        Ok(heard)
    }

    /// What one browser claimed, no other gets.
    async fn others_are_kept_out(&mut self, login: &Clean) -> Result<(), Failure> {
        if login.claimed == Step::Answered {
            let other = login.visit.with_cookies("");
            self.expect(&other, &[Refused]).await?;
        }
        Ok(())
    }

    /// A login that was left halfway ends well when its browser tries again. One
    /// whose browser never heard that it had claimed it cannot.
    async fn recover(&mut self, login: &Clean) -> Result<(), Failure> {
        if login.claimed == Step::Unanswered {
            return Ok(());
        }
        let (_, departure) = self.expect(&login.visit, &[Granted]).await?;
        let arrive = at_provider(self.client, &departure).await?;
        self.expect(&arrive, &[Granted]).await?;
        self.take(login, &[Granted]).await.map(drop)
    }

    async fn about_legacy(&mut self, login: &Legacy) -> Result<(), Failure> {
        match &login.redeem {
            // The code is lost with the answer that bore it, if there was one.
            None => self
                .expect(&login.arrive, &[Granted, Refused])
                .await
                .map(drop)?,
            Some(redeem) => self.about_code(login, redeem).await?,
        }
        self.expect(&login.arrive, &[Refused]).await.map(drop)
    }

    async fn about_code(&mut self, login: &Legacy, redeem: &Request) -> Result<(), Failure> {
        let hoped: &[Heard] = match login.redeemed {
            Step::NotAsked => &[Granted],
            Step::Unanswered => &[Granted, Refused],
            Step::Answered => &[Refused],
        };
        if let Some(token) = &login.token {
            self.about_token(login, token).await?;
        }
        self.expect(redeem, hoped).await?;
        self.expect(redeem, &[Refused]).await?;
        // A code that comes again ends the token that it was good for.
        if let Some(token) = &login.token {
            let profile = Request::Profile {
                token: token.clone(),
            };
            self.expect(&profile, &[Refused]).await?;
        }
        Ok(())
    }

    async fn about_token(&mut self, login: &Legacy, token: &str) -> Result<(), Failure> {
        let hoped: &[Heard] = match login.revoked {
            Step::NotAsked => &[Granted],
            Step::Unanswered => &[Granted, Refused],
            Step::Answered => &[Refused],
        };
        let token = token.to_owned();
        self.expect(&Request::Profile { token }, hoped)
            .await
            .map(drop)
    }

    /// Sends `request`, to which the answer must be one of `hoped`.
    async fn expect(
        &mut self,
        request: &Request,
        hoped: &[Heard],
    ) -> Result<(Heard, Answer), Failure> {
        let answer = self.client.send(self.broker, request).await.answer()?;
        self.facts += 1;
        match answer.heard(request) {
            Some(heard) if hoped.contains(&heard) => Ok((heard, answer)),
            other => Err(format!("{request:?}: {other:?} instead of {hoped:?}").into()),
        }
    }
}

//! A person in a storm, who signs in and out; and a stranger, who sees their callback.

use agent::browser::CookieJar;
use agent::random::Random;
use url::Url;

use super::{Storm, lock};
use crate::app::SignInWay;
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::Outcome;

/// A browser with those who have used it.
#[derive(Default)]
pub(super) struct UsedBrowser {
    name: String,
    jar: CookieJar,
    people: Vec<Person>,
}

impl Storm<'_> {
    /// One login after the other, by any way, in one browser or in a fresh one, until the storm
    /// is over.
    pub(super) async fn live(&self, number: u64, mut random: Random) -> UsedBrowser {
        let mut used = UsedBrowser {
            name: format!("browser {number}"),
            ..UsedBrowser::default()
        };
        while !self.is_over() {
            if random.one_in(3) {
                used.jar = CookieJar::default();
                used.people.clear();
            }
            let way = random.pick(&self.app.ways);
            let trial = Trial::new(self.testbed, self.app, way.flow);
            let mut user = self.next_user(&trial, &mut used);
            // Whatever is out of order may stop a step. The pages that users see are judged.
            let stopped = self.sign_in(&mut user, way, &mut random).await.is_err();
            self.count(match stopped {
                true => "logins interrupted",
                false => "logins ended",
            });
            let looked = self.look(&mut user, &used.people).await;
            if looked.is_ok_and(|is_in| is_in) {
                self.count("people signed in");
                if random.one_in(2) {
                    let _ = self.sign_out(&mut user).await;
                }
            }
            used.jar = user.browser.jar;
        }
        used
    }

    /// A new person, in this browser.
    fn next_user<'t>(&self, trial: &'t Trial<'t>, used: &mut UsedBrowser) -> User<'t> {
        let mut user = trial.user(&used.name, "Ada");
        user.browser.jar = used.jar.clone();
        used.people.push(user.person.clone());
        lock(&self.people).push(user.person.clone());
        user
    }

    /// A login, whose callback a stranger may ask for as well.
    async fn sign_in(&self, user: &mut User<'_>, way: &SignInWay, random: &mut Random) -> Outcome {
        let begun = user.begin_by(way).await?;
        let callback = user.come_back(begun).await?;
        let stranger = self.replay(user.trial, user.person.clone(), callback.url.clone());
        let page = match random.below(4) {
            0 => {
                stranger.await;
                user.visit(callback).await
            }
            1 => tokio::join!(stranger, user.visit(callback)).1,
            2 => {
                let page = user.visit(callback).await;
                stranger.await;
                page
            }
            _ => user.visit(callback).await,
        };
        page.map(drop)
    }

    /// A stranger asks for the callback of `owner`.
    async fn replay(&self, trial: &Trial<'_>, owner: Person, callback: Url) {
        let mut stranger = trial.user_as("a stranger's browser", owner);
        self.count("callbacks replayed by strangers");
        let answer = stranger.open(&callback).await;
        if answer.is_ok() && stranger.is_signed_in().await == Ok(true) {
            let says = "a stranger asked for a user's callback, and is signed in as that user";
            self.report(says, trial.transcript.lines());
        }
    }

    /// Whether the app shows this person; only those who used the browser may be shown.
    async fn look(&self, user: &mut User<'_>, used_by: &[Person]) -> Outcome<bool> {
        let page = user.whoami().await?;
        let is_foreign = |it: &Person| !used_by.contains(it) && it.is_shown_in(&page.body);
        if lock(&self.people).iter().any(is_foreign) {
            let says = format!("{} shows a user another user's profile", page.url.path());
            self.report(says, user.trial.transcript.lines());
        }
        Ok(user.person.is_shown_in(&page.body))
    }

    /// After a sign-out that the app confirms, a copy of the cookies opens nothing.
    async fn sign_out(&self, user: &mut User<'_>) -> Outcome {
        if user.trial.app.sign_out.is_none() {
            return Ok(());
        }
        let mut copy = user.clone();
        user.sign_out().await?;
        if user.is_signed_in().await? {
            return Ok(());
        }
        self.count("people signed out");
        if copy.is_signed_in().await? {
            let says = "after sign-out, a copy of the session's cookie still opens the session";
            self.report(says, user.trial.transcript.lines());
        }
        Ok(())
    }

    /// In the calm, a new person signs in by every flow in a browser that went through the storm.
    pub(super) async fn sign_in_again(&self, mut used: UsedBrowser) {
        for flow in self.app.flows() {
            let trial = Trial::new(self.testbed, self.app, flow);
            let mut user = self.next_user(&trial, &mut used);
            if let Err(stop) = user.sign_in().await {
                let actual = stop.actual;
                let says = format!(
                    "after the storm a browser cannot sign in by the {flow} flow: {actual}"
                );
                self.report(says, trial.transcript.lines());
            }
            // The next one finds a sign-in on the start page.
            let _ = self.sign_out(&mut user).await;
            used.jar = user.browser.jar;
        }
    }
}

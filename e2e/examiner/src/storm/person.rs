//! A person in a storm, who signs in and out; and a stranger, who sees their callback.

use agent::random::Random;

use super::{Storm, lock};
use crate::app::SignInWay;
use crate::browser::{Browser, Visit};
use crate::trial::Trial;
use crate::user::{Person, User};
use crate::verdict::Outcome;

/// A browser with those who have used it.
pub(super) struct UsedBrowser {
    name: String,
    browser: Option<Browser>,
    people: Vec<Person>,
}

impl Storm<'_> {
    /// One login after the other, by any way, in one browser or in a fresh one, until the storm
    /// is over.
    pub(super) async fn live(&self, number: u64, mut random: Random) -> UsedBrowser {
        let mut used = UsedBrowser {
            name: format!("browser {number}"),
            browser: None,
            people: Vec::new(),
        };
        while !self.is_over() {
            if random.one_in(3) {
                used.browser = None;
                used.people.clear();
            }
            let way = random.pick(&self.app.ways);
            let trial = Trial::new(self.testbed, self.app, way.flow);
            let mut user = self.next_user(&trial, &mut used);
            // Whatever is out of order may stop a step. The pages that users see are judged.
            let stopped = self.sign_in(&mut user, way, &mut random).await.is_err();
            self.count(if stopped {
                "logins interrupted"
            } else {
                "logins ended"
            });
            let looked = self.look(&mut user, &used.people).await;
            if looked.is_ok_and(|is_in| is_in) {
                self.count("people signed in");
                if random.one_in(2) {
                    let _ = self.sign_out(&mut user).await;
                }
            }
            used.browser = Some(user.browser);
        }
        used
    }

    /// A new person, in this browser.
    fn next_user<'t>(&self, trial: &'t Trial<'t>, used: &mut UsedBrowser) -> User<'t> {
        let mut user = trial.user(&used.name, "Ada");
        if let Some(before) = &used.browser {
            user.browser.jar = before.jar.clone();
        }
        used.people.push(user.person.clone());
        lock(&self.people).push(user.person.clone());
        user
    }

    /// A login, whose callback a stranger may ask for as well.
    async fn sign_in(&self, user: &mut User<'_>, way: &SignInWay, random: &mut Random) -> Outcome {
        let begun = user.trial.begin_by(&mut user.browser, way).await?;
        let page = user.trial.to_provider(&mut user.browser, begun).await?;
        let callback = user.choose(&page).await?;
        let stranger = self.replay(user, Visit::typed(&callback.url));
        match random.below(4) {
            0 => {
                stranger.await;
                user.visit(callback).await?;
            }
            1 => {
                let mut own = user.clone();
                tokio::join!(stranger, own.visit(callback)).1?;
                user.browser = own.browser;
            }
            2 => {
                let mut own = user.clone();
                own.visit(callback).await?;
                stranger.await;
                user.browser = own.browser;
            }
            _ => {
                drop(stranger);
                user.visit(callback).await?;
            }
        }
        Ok(())
    }

    /// A stranger asks for a callback that is not theirs.
    async fn replay(&self, owner: &User<'_>, callback: Visit) {
        let trial = owner.trial;
        let mut stranger = trial.user_as("a stranger's browser", owner.person.clone());
        self.count("callbacks replayed by strangers");
        if stranger.visit(callback).await.is_ok() && stranger.is_signed_in().await == Ok(true) {
            self.report(
                "a stranger asked for a user's callback, and is signed in as that user",
                trial.transcript.lines(),
            );
        }
    }

    /// Whether the app shows this person; only those who used the browser may be shown.
    async fn look(&self, user: &mut User<'_>, used_by: &[Person]) -> Outcome<bool> {
        let page = user.whoami().await?;
        let is_foreign = {
            let people = lock(&self.people);
            let mut others = people.iter().filter(|it| !used_by.contains(it));
            others.any(|it| it.is_shown_in(&page.body))
        };
        if is_foreign {
            self.report(
                format!("{} shows a user another user's profile", page.url.path()),
                user.trial.transcript.lines(),
            );
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
                self.report(
                    format!(
                        "after the storm a browser cannot sign in by the {} flow: {}",
                        flow.as_str(),
                        stop.actual
                    ),
                    trial.transcript.lines(),
                );
            }
            // The next one finds a sign-in on the start page.
            let _ = self.sign_out(&mut user).await;
            used.browser = Some(user.browser);
        }
    }
}

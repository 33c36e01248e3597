//! A session that an attacker knew before the login, planted in the victim's browser.

use futures_util::future::try_join_all;

use crate::browser::{Browser, Cookie, Visit};
use crate::person::Person;
use crate::random;
use crate::trial::Trial;
use crate::verdict::{Outcome, Stop, require};

/// The number of the attacker's requests while the victim comes back.
const REQUESTS: usize = 4;

/// `session-rotated`: with the cookies of a visit, of a login that the attacker began,
/// and with made-up ones.
pub(super) async fn session_rotated(trial: &Trial<'_>) -> Outcome {
    for origin in Origin::ALL {
        let cookies = attackers_cookies(trial, origin).await?;
        if !cookies.is_empty() {
            planted(trial, origin, &cookies).await?;
        }
    }
    Ok(())
}

/// The origin of the cookies that the attacker plants.
#[derive(Clone, Copy)]
enum Origin {
    Visit,
    Login,
    MadeUp,
}

impl Origin {
    const ALL: [Self; 3] = [Self::Visit, Self::Login, Self::MadeUp];

    fn as_str(self) -> &'static str {
        match self {
            Self::Visit => "of a visit of the attacker's",
            Self::Login => "of a login that the attacker began",
            Self::MadeUp => "with a made-up value",
        }
    }
}

async fn attackers_cookies(trial: &Trial<'_>, origin: Origin) -> Outcome<Vec<Cookie>> {
    let mut attacker = trial.browser("the attacker's browser");
    match origin {
        Origin::Visit => drop(attacker.open(&trial.testbed.start).await?),
        Origin::Login => drop(trial.begin(&mut attacker).await?),
        Origin::MadeUp => return Ok(made_up(trial)),
    }
    Ok(attacker.jar.of(&trial.testbed.start))
}

fn made_up(trial: &Trial<'_>) -> Vec<Cookie> {
    let names = trial.app.session_cookies.iter();
    let lines = names.map(|name| format!("{name}={}; Path=/", random::secret()));
    lines
        .filter_map(|line| Cookie::parse(&line, &trial.testbed.start))
        .collect()
}

async fn planted(trial: &Trial<'_>, origin: Origin, cookies: &[Cookie]) -> Outcome {
    let attacker = Attacker {
        trial,
        victim: Person::new("Vera"),
        origin,
        browser: with_cookies(trial, "the attacker's browser", cookies),
    };
    let mut own = with_cookies(trial, "the victim's browser", cookies);
    let visit = trial.begin(&mut own).await?;
    let page = trial.to_provider(&mut own, visit).await?;
    attacker.request("while the victim is away").await?;
    let callback = trial.choose(&mut own, &page, &attacker.victim).await?;
    attacker.request("while the victim comes back").await?;
    let (arrival, race) = tokio::join!(
        own.visit(callback),
        attacker.race("while the victim comes back")
    );
    race?;
    arrival?;
    attacker.request("after the sign-in").await?;
    let ends_well = trial.is_signed_in(&mut own, &attacker.victim).await?;
    require(ends_well, || {
        format!(
            "a user with a planted cookie {} is not signed in while the attacker requests the callback",
            origin.as_str()
        )
    })
}

fn with_cookies(trial: &Trial<'_>, name: &str, cookies: &[Cookie]) -> Browser {
    let mut browser = trial.browser(name);
    for cookie in cookies {
        browser.jar.store(cookie.clone());
    }
    browser
}

struct Attacker<'t, 'w> {
    trial: &'t Trial<'w>,
    victim: Person,
    origin: Origin,
    /// Its cookies stay the planted ones: each request is made by a copy.
    browser: Browser,
}

impl Attacker<'_, '_> {
    /// Asks for the callback with the planted cookies, and looks who is signed in then:
    /// with what the answer set, and with the planted cookies themselves.
    async fn request(&self, when: &str) -> Outcome {
        let mut copy = self.browser.clone();
        copy.visit(Visit::typed(&self.trial.callback()?)).await?;
        for browser in [&mut copy, &mut self.browser.clone()] {
            if self.trial.is_signed_in(browser, &self.victim).await? {
                return Err(Stop::takeover(format!(
                    "the attacker planted a cookie {}, requested the callback with it {when}, and is signed in as the victim",
                    self.origin.as_str()
                )));
            }
        }
        Ok(())
    }

    async fn race(&self, when: &str) -> Outcome {
        let requests = (0..REQUESTS).map(|_| self.request(when));
        try_join_all(requests).await.map(drop)
    }
}

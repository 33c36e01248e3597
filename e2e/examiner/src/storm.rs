//! A storm: fifty people sign in and out at once for some seconds, while answers of the broker are
//! lost, delayed and cut, the clock jumps, brokers and instances of the app restart, and strangers
//! replay what they see. What people see, and the calls that reached the broker, must show that
//! no user was signed in as another, none was locked out, and nothing was read or sent
//! twice.
//!
//! | module | contents |
//! |---|---|
//! | [`person`] | a person who signs in and out, and the stranger who watches |
//! | [`weather`] | what happens meanwhile |
//! | [`judge`] | the calls of all logins, and the broker's own word on them |

mod judge;
mod person;
mod weather;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::random::Random;
use askama::Template;
use futures_util::future::join_all;
use serde::Serialize;

use crate::app::App;
use crate::examination::in_first_testbed;
use crate::learn;
use crate::plan::ExaminationPlan;
use crate::testbed::Testbed;
use crate::time::Stopwatch;
use crate::transcript::TranscriptLine;
use crate::user::Person;

/// The number of people at once.
const PEOPLE: u64 = 50;

/// The plan of a storm.
#[derive(Debug, Clone, Copy)]
pub struct StormPlan {
    /// Its length.
    pub length: Duration,
    /// The seed of every decision: of the people, the strangers and the weather.
    pub seed: u64,
}

/// The findings of a storm.
#[derive(Debug, Default, Serialize, Template)]
#[template(path = "storm.txt")]
pub struct StormReport {
    /// The seed, which repeats the plan.
    pub seed: u64,
    /// The length, in seconds.
    pub seconds: u64,
    /// The instances of the app: two if it says how they share their sessions.
    pub instances: usize,
    /// The number of times that each thing happened.
    pub counts: BTreeMap<&'static str, usize>,
    /// The things that must not happen, and did.
    pub violations: Vec<Violation>,
}

/// Something that must not happen.
#[derive(Debug, Serialize)]
pub struct Violation {
    /// The observation, in one sentence.
    pub says: String,
    /// The number of logins that showed it.
    pub times: usize,
    /// The exchanges of the first one.
    pub evidence: Vec<TranscriptLine>,
}

/// Lets the app of `plan` go through a storm; none after an interruption.
///
/// # Errors
///
/// If the app cannot be examined at all: one sentence with the way out.
pub async fn storm(
    plan: &ExaminationPlan,
    storm: StormPlan,
    interruption: impl Future<Output = ()>,
) -> Result<Option<StormReport>, String> {
    let whole = async |testbed: &std::sync::Arc<Testbed>| {
        let app = learn::learn(testbed, &plan.hints, plan.flow).await?.app;
        if plan.share.is_none() {
            return Storm::new(testbed, &app, storm, 1).run().await;
        }
        let replicas = testbed.replicas(&app).await?;
        let report = Storm::new(&replicas, &app, storm, 2).run().await;
        replicas.stop().await;
        report
    };
    in_first_testbed(plan, interruption, whole).await
}

/// A storm that goes on.
struct Storm<'a> {
    testbed: &'a Testbed,
    app: &'a App,
    plan: StormPlan,
    watch: Stopwatch,
    /// Every person who has ever signed in.
    people: Mutex<Vec<Person>>,
    report: Mutex<StormReport>,
}

impl<'a> Storm<'a> {
    fn new(testbed: &'a Testbed, app: &'a App, plan: StormPlan, instances: usize) -> Self {
        let report = StormReport {
            seed: plan.seed,
            seconds: plan.length.as_secs(),
            instances,
            ..StormReport::default()
        };
        Self {
            testbed,
            app,
            plan,
            watch: Stopwatch::start(),
            people: Mutex::default(),
            report: report.into(),
        }
    }

    async fn run(self) -> Result<StormReport, String> {
        let begin = self.testbed.mark().await?;
        let random = |index| Random::of(self.plan.seed, index);
        let people = (1..=PEOPLE).map(|number| self.live(number, random(number)));
        let (browsers, log) = tokio::join!(join_all(people), self.disturb(begin, random(0)));
        let mut log = log?;
        self.testbed.control.disarm().await?;
        // In the calm after it every browser can sign in again.
        let calm = browsers.into_iter().map(|it| self.sign_in_again(it));
        join_all(calm).await;
        log.catch_up(self.testbed).await?;
        self.judge(log).await?;
        let report = self.report.into_inner();
        Ok(report.unwrap_or_else(PoisonError::into_inner))
    }

    fn is_over(&self) -> bool {
        self.watch.elapsed() > self.plan.length
    }

    fn count(&self, what: &'static str) {
        *lock(&self.report).counts.entry(what).or_default() += 1;
    }

    fn report(&self, says: impl Into<String>, evidence: Vec<TranscriptLine>) {
        let says = stack::mask::scrub(&says.into());
        let violations = &mut lock(&self.report).violations;
        match violations.iter_mut().find(|it| it.says == says) {
            Some(known) => known.times += 1,
            None => violations.push(Violation {
                says,
                times: 1,
                evidence,
            }),
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

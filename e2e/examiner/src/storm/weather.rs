//! The disturbances of a storm: faults between the app and the broker, jumps of the
//! clock, restarts of brokers and of the app. The log of the stack is read meanwhile: it forgets.

use std::time::Duration;

use agent::random::Random;
use serde_json::json;

use super::Storm;
use crate::app::Flow;
use crate::calls::operation::{PROFILE, RESULT, SESSION, TOKEN};
use crate::calls::{self, Call};
use crate::control::Event;
use crate::testbed::Testbed;
use crate::time::pause;
use crate::verdict::Outcome;

/// The time between two changes of the weather, in milliseconds, at most.
const MAX_PAUSE_MS: usize = 80;

/// The longest delay of an answer, in milliseconds: shorter than any app's patience.
const MAX_DELAY_MS: usize = 1_500;

/// The longest jump of the clock, in seconds. It ends logins, and no session.
const MAX_JUMP_SECONDS: usize = 700;

/// The faults: lost, cut, refused, replaced, delayed.
const FAULTS: [&str; 6] = [
    "lose_response",
    "truncate",
    "refuse",
    "html_502",
    "html_200",
    "delay",
];

/// The events of a storm, all of them.
pub(super) struct StormLog {
    last: u64,
    events: Vec<Event>,
}

impl StormLog {
    pub(super) async fn catch_up(&mut self, testbed: &Testbed) -> Outcome {
        self.events.extend(testbed.control.events(self.last).await?);
        self.last = self.events.last().map_or(self.last, |event| event.seq);
        Ok(())
    }

    /// The calls of the app's backend.
    pub(super) fn calls(&self) -> Vec<Call> {
        let calls = calls::from_events(self.events.clone()).into_iter();
        calls.filter(calls::is_by_app).collect()
    }
}

impl Storm<'_> {
    /// Changes the weather until the storm is over, and returns the log since `begin`.
    pub(super) async fn disturb(&self, begin: u64, mut random: Random) -> Outcome<StormLog> {
        let mut log = StormLog {
            last: begin,
            events: Vec::new(),
        };
        while !self.is_over() {
            self.change(&mut random).await?;
            log.catch_up(self.testbed).await?;
            pause(milliseconds(random.below(MAX_PAUSE_MS))).await;
        }
        Ok(log)
    }

    async fn change(&self, random: &mut Random) -> Outcome {
        match random.below(40) {
            0 => {
                self.testbed.control.restart_broker().await?;
                self.count("broker restarts");
            }
            1 if self.instances > 1 => {
                self.replace(random.below(self.instances)).await?;
                self.count("instances replaced");
            }
            2..4 => {
                let seconds = random.below(MAX_JUMP_SECONDS);
                self.testbed.control.advance(seconds as u64).await?;
                self.count("jumps of the clock");
            }
            _ => {
                let flows = self.app.flows();
                let operation = match random.pick(&flows) {
                    Flow::Clean => *random.pick(&[SESSION, RESULT]),
                    Flow::Legacy => *random.pick(&[TOKEN, PROFILE]),
                };
                let fault = *random.pick(&FAULTS);
                let more = match fault {
                    "delay" => json!({ "delay_ms": random.below(MAX_DELAY_MS) }),
                    _ => json!({}),
                };
                self.testbed.arm(operation, fault, &more).await?;
                self.count("faults");
            }
        }
        Ok(())
    }

    /// Replaces an instance of the app; meanwhile the other one gets every request.
    async fn replace(&self, instance: usize) -> Outcome {
        let (balancer, instances) = self.testbed.balanced()?;
        balancer.give_to(&[1 - instance]);
        instances.end_gently(instance).await;
        let restarted = instances.restart(instance).await;
        balancer.give_to(&[0, 1]);
        restarted
    }
}

fn milliseconds(number: usize) -> Duration {
    Duration::from_millis(number as u64)
}

//! The disturbances of a storm: faults between the app and the broker, jumps of the
//! clock, restarts of brokers and of the app. The log of the stack is read meanwhile: it forgets.

use std::time::Duration;

use agent::random::Random;
use serde_json::json;

use super::Storm;
use crate::app::Flow;
use crate::calls::operation::{PROFILE, RESULT, SESSION, TOKEN};
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
    pub(super) events: Vec<Event>,
}

impl StormLog {
    pub(super) async fn catch_up(&mut self, testbed: &Testbed) -> Outcome {
        self.events.extend(testbed.control.events(self.last).await?);
        self.last = self.events.last().map_or(self.last, |event| event.seq);
        Ok(())
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
            let length = random.below(MAX_PAUSE_MS) as u64;
            pause(Duration::from_millis(length)).await;
        }
        Ok(log)
    }

    async fn change(&self, random: &mut Random) -> Outcome {
        let control = &self.testbed.control;
        let what = match random.below(40) {
            0 => {
                control.restart_broker().await?;
                "broker restarts"
            }
            1 if self.testbed.balanced().is_ok() => {
                self.replace(random.below(2)).await?;
                "instances replaced"
            }
            2..4 => {
                let seconds = random.below(MAX_JUMP_SECONDS);
                control.advance(seconds as u64).await?;
                "jumps of the clock"
            }
            _ => {
                let operations = match random.pick(&self.app.flows()) {
                    Flow::Clean => [SESSION, RESULT],
                    Flow::Legacy => [TOKEN, PROFILE],
                };
                let operation = *random.pick(&operations);
                let fault = *random.pick(&FAULTS);
                let more = match fault {
                    "delay" => json!({ "delay_ms": random.below(MAX_DELAY_MS) }),
                    _ => json!({}),
                };
                self.testbed.arm(operation, fault, &more).await?;
                "faults"
            }
        };
        self.count(what);
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

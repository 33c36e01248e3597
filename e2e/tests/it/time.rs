//! All parts of a stack use one clock: lifetimes end by it, to the millisecond, every time in
//! a response is read from it, and nothing in the sources reads another one.

mod direct;
mod ends;
mod shown;
mod sources;

use stack::StackClock;

use crate::login::{FLOWS, Flow, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;

/// The start of the stacks' clocks: a whole second, far from the machine's
/// time, 2026-09-21 14:13:20 UTC.
const BEGIN_MS: i64 = 1_790_000_000_000;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;

async fn with_standing_clock() -> TestStack {
    TestStack::by(StackClock::frozen_at(BEGIN_MS)).await
}

#[tokio::test]
async fn users_sign_in_at_any_time_of_the_stacks_clock() {
    // In September 2001, and in October 2096.
    for unix_ms in [1_000_000_000_000, 4_000_000_000_000] {
        let stack = TestStack::by(StackClock::frozen_at(unix_ms)).await;
        for flow in FLOWS {
            for provider in PROVIDERS {
                stack.sign_in(flow, provider).await.is_ada(provider);
            }
        }
        assert_eq!(stack.now_ms(), unix_ms, "and nothing has moved it");
    }
}

#[tokio::test]
async fn a_reset_sets_a_standing_clock_back_to_its_start() {
    let stack = with_standing_clock().await;
    stack.advance_to(BEGIN_MS + HOUR_MS);
    stack.reset().await.expect("a fresh broker");
    assert_eq!(stack.now_ms(), BEGIN_MS);
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
}

//! Faults of the proxy: the client's response, the broker's committed steps, the events,
//! and the result of the next call. The call at which a fault triggers is tested beside
//! the code.

mod calls;
mod held;
mod resends;
mod slow;

use std::time::Duration;

use stack::faults::{Fault, FaultInjection};
use stack::operation::BrokerOperation;

use crate::test_stack::TestStack;

fn operation(name: &str) -> BrokerOperation {
    name.parse().expect("one of the broker's")
}

/// The next call of `operation` is struck; a delay is over at once.
fn arm(stack: &TestStack, operation: &str, fault: Fault) {
    stack.faults().arm(FaultInjection {
        delay: Duration::from_millis(1),
        ..FaultInjection::next(self::operation(operation), fault)
    });
}

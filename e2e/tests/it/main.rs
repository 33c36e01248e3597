//! The whole system from outside: real HTTP, raw JSON, and a browser that records every
//! step. No test builds a request or reads a response through a type of the contract, so
//! that none can hide a mistake.
//!
//! The fixtures are `test_stack` (a stack, with a project of its own), which the stack's
//! own suite has, and `broker_parts` (those of a broker outside it). Testkit has the HTTP
//! client, the browser, the backend, `login` (either flow) and `logs` (every logged line).

#[cfg(feature = "nginx")]
mod broker_parts;
#[expect(dead_code, reason = "the stack's own suite uses all of it")]
#[path = "../../stack/tests/stack/test_stack.rs"]
mod test_stack;

#[cfg(feature = "nginx")]
mod behind_nginx;
mod documents;
mod failures;
mod secrets_stay_in;
mod threats;
mod tree;

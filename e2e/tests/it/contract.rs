//! The published contract and the broker agree: every response is documented, every
//! documented status is sent, and the schemas, the broker and a plain implementation of
//! the specification accept the same bodies.

mod differential;
mod operations;
mod page;
mod statuses;

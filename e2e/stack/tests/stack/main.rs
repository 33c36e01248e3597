//! The stack from outside: what its control address, its proxy, its pages and its program
//! do, by real HTTP and raw JSON. What follows from events alone is tested beside the code.
//!
//! [`test_stack`] starts a stack with a project of the test's own, for the suites of `e2e`
//! too. [`program`] runs the program `stack`; all others start the stack in their process.

#[expect(dead_code, reason = "the suites of e2e use the rest")]
mod test_stack;

mod control;
mod faults;
mod guide;
mod http_input;
mod https;
mod inspector;
mod named;
mod pages;
mod program;
mod two_projects;

//! What every suite of the project uses.
//!
//! | module | contents |
//! |---|---|
//! | [`leak_check`] | finds secrets in logs, pages, files and answers |
//! | [`openapi`] | checks an answer against the published contract |
//! | [`fuzz`] | mutates inputs and runs a target on them |
//! | [`postgres`] | a throwaway PostgreSQL server |
//!
//! Of the project's crates it depends on `contract` alone, so that every other one
//! can use it in its tests.

pub mod fuzz;
pub mod leak_check;
pub mod openapi;
pub mod postgres;

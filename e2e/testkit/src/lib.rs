//! The tools that every suite of the project uses.
//!
//! | module | contents |
//! |---|---|
//! | [`response`] | a response with its assertions |
//! | [`http`] | the HTTP client, which checks each response as it reads it |
//! | [`browser`] | a browser with its cookies that records each step |
//! | [`backend`] | a consumer's backend over raw JSON |
//! | [`login`] | a login by either flow, and its outcome |
//! | [`server`] | a server in the process of a test |
//! | [`fresh`] | keys, states and verifiers that no other test uses |
//! | [`openapi`] | checks a response against the published contract |
//! | [`leak_check`] | finds secrets in logs, pages, files and responses |
//! | [`malformed`] | the corpus of malformed requests, which is the agent's |
//! | [`fuzz`] | mutates inputs and runs a target on them |
//! | [`postgres`] | a throwaway PostgreSQL server |
//!
//! Of the project's crates it depends on `contract` and `agent` alone, so that every
//! other one can use it in its tests.

pub mod backend;
pub mod browser;
pub mod fresh;
pub mod fuzz;
pub mod http;
pub mod leak_check;
pub mod login;
pub mod openapi;
pub mod postgres;
pub mod response;
pub mod server;

pub use agent::malformed;

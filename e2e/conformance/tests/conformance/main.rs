//! The conformance runner: that our broker meets every requirement, and that each
//! requirement can be broken. Brokers stand behind a proxy that makes some of
//! them wrong, each in one way.
//!
//! A binary of its own, for its thousands of requests would fill the log that `it`
//! keeps and searches; what stages both is `it`'s.

#[path = "../../../tests/it/assembly.rs"]
mod assembly;
#[expect(dead_code, reason = "what `it` uses, too")]
#[path = "../../../tests/it/backend.rs"]
mod backend;
#[expect(dead_code, reason = "what `it` uses, too")]
#[path = "../../../tests/it/browser.rs"]
mod browser;
#[expect(dead_code, reason = "what `it` uses, too")]
#[path = "../../../tests/it/fresh.rs"]
mod fresh;
#[expect(dead_code, reason = "what `it` uses, too")]
#[path = "../../../tests/it/jar.rs"]
mod jar;
#[path = "../../../tests/it/published.rs"]
mod published;
#[expect(dead_code, reason = "what `it` uses, too")]
#[path = "../../../tests/it/reply.rs"]
mod reply;
#[path = "../../../tests/it/sentinel.rs"]
mod sentinel;

mod command;
mod ground;
mod proxy;
mod right;
mod wrong;

//! A browser, a consumer's backend and a client of the control address, over raw HTTP and
//! JSON.
//!
//! | module | contents |
//! |---|---|
//! | [`browser`] | a strict browser: cookies, redirects, `Referer`, `Sec-Fetch-*`, forms |
//! | [`backend`] | the calls of one project's backend |
//! | [`control`] | the control address of the stack |
//! | [`http`] | one bounded request at a time, sent once |
//! | [`race`] | requests that servers receive at one moment |
//! | [`program`] | a program that is started, awaited and ended |
//! | [`process`] | what a process uses, on Linux |
//! | [`malformed`] | the corpus of malformed requests |
//! | [`source_tree`] | the part of a folder that people edit, and its digest |
//! | [`tree`] | a copy of a tree of sources, with some of them changed |
//! | [`random`] | random values, and digests such as the PKCE challenge |
//! | [`secrets`] | the search for secrets, in every spelling |
//! | [`url`] | the parts of addresses |
//! | [`time`] | real time, for what no clock of a test moves |
//!
//! # Invariants
//!
//! It depends on no crate of this workspace: what it sends and reads is as foreign to the
//! broker as any client, so that a runner that must know nothing of the broker can use it.
//! It asserts nothing and has no opinion on an answer: that is the caller's part, which
//! sends the requests of a browser by a [`browser::Transport`] of its own.

#![warn(missing_docs)]

pub mod backend;
pub mod browser;
pub mod control;
pub mod http;
pub mod malformed;
pub mod process;
pub mod program;
pub mod race;
pub mod random;
pub mod secrets;
pub mod source_tree;
pub mod time;
pub mod tree;
pub mod url;

//! Finds the secrets of a test in everything that was written meanwhile: pages, log
//! lines, database files, a proxy's log.
//!
//! There are two ways to search. A [`LeakCheck`] knows the secrets and finds each in
//! every spelling, also when it was cut short. [`suspicious`] does not know them, and
//! goes by what all of them look like. [`watch_log`] applies it to every line that a
//! process logs: one call in each suite.
//!
//! ```
//! use testkit::leak_check::{LeakCheck, suspicious};
//!
//! let leak_check = LeakCheck::over([("client secret", "hunter2/hunter3")]);
//! let leaks = leak_check.search("GET /?client_secret=hunter2%2Fhunter3");
//! assert_eq!(leaks.len(), 1);
//! assert_eq!(leaks[0].to_string(), "client secret, url-encoded");
//!
//! let careless = "refused LeakMark-Qx";
//! assert!(suspicious(careless).is_some());
//! ```

mod forms;
mod log;
mod response;
mod shape;

use std::fmt;
use std::ops::Range;

use aho_corasick::AhoCorasick;
pub use forms::{Form, forms};
pub use log::{watch_log, watch_log_and, without_keeping_log};
pub use response::in_response;
pub use shape::{MARK, drawn, suspicious};

/// A search for some secrets, in every spelling.
#[derive(Debug)]
pub struct LeakCheck {
    secrets: Vec<String>,
    /// Of each needle: the index of its secret in `secrets`, and its spelling.
    needles: Vec<(usize, Form)>,
    automaton: AhoCorasick,
}

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// The index of the secret among those that were given.
    pub secret: usize,
    /// The name of the secret, as it was given.
    pub what: String,
    /// The spelling.
    pub form: Form,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.what, self.form)
    }
}

impl LeakCheck {
    /// A search for these secrets, each with its name.
    ///
    /// # Panics
    ///
    /// If a secret is so short that it occurs in random data, or if there are more of them
    /// than memory holds.
    pub fn over<W: Into<String>, S: AsRef<str>>(secrets: impl IntoIterator<Item = (W, S)>) -> Self {
        let mut sought: Vec<Vec<u8>> = Vec::new();
        let mut needles = Vec::new();
        let mut names = Vec::new();
        for (what, secret) in secrets {
            let (what, secret) = (what.into(), secret.as_ref());
            assert!(secret.len() >= 4, "{what} is too short to be searched for");
            for (form, spelt) in forms(secret) {
                sought.push(spelt);
                needles.push((names.len(), form));
            }
            names.push(what);
        }
        Self {
            secrets: names,
            needles,
            automaton: AhoCorasick::new(sought).expect("they fit into memory"),
        }
    }

    /// The number of secrets.
    #[must_use]
    pub fn secrets(&self) -> usize {
        self.secrets.len()
    }

    /// The secrets in `written`, each once, in the first spelling that is found.
    pub fn search(&self, written: impl AsRef<[u8]>) -> Vec<Leak> {
        let mut leaks: Vec<Leak> = Vec::new();
        for found in self.automaton.find_overlapping_iter(written.as_ref()) {
            let (secret, form) = self.needles[found.pattern().as_usize()];
            if leaks.iter().all(|leak| leak.secret != secret) {
                let what = self.secrets[secret].clone();
                leaks.push(Leak { secret, what, form });
            }
        }
        leaks
    }

    /// The position of the first of the secrets.
    fn first(&self, written: &[u8]) -> Option<Range<usize>> {
        Some(self.automaton.find(written)?.range())
    }
}

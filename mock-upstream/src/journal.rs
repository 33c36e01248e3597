//! The last requests of a provider, with their secrets masked.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use serde::Serialize;
use url::form_urlencoded;

/// The number of requests that a journal keeps.
pub const CAPACITY: usize = 1_000;

/// The parameters whose values are masked.
const SECRETS: [&str; 9] = [
    "access_token",
    "client_secret",
    "code",
    "code_challenge",
    "code_verifier",
    "id_token",
    "nonce",
    "state",
    "token",
];

const MASK: &str = "[masked]";

/// One request and the status of its response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The time of the response, in Unix milliseconds.
    pub at: i64,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query with the values of secrets masked, truncated if it is long; empty if
    /// there was none.
    pub query: String,
    /// The status of the response; `null` if the client received none.
    pub status: Option<u16>,
}

/// The last [`CAPACITY`] requests of one provider.
pub(crate) struct Journal(Mutex<VecDeque<Entry>>);

impl Journal {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(VecDeque::with_capacity(CAPACITY)))
    }

    /// Adds an entry; a full journal drops its oldest one.
    pub(crate) fn record(&self, entry: Entry) {
        let mut entries = self.lock();
        if entries.len() == CAPACITY {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The entries, oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.lock().iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0
            .lock()
            .expect("nothing panics while it holds the journal")
    }
}

/// The maximum length of a path or a query in the journal.
const MAX_CHARACTERS: usize = 4 * 1024;

/// `query` with the values of secrets masked, truncated if it is long.
pub(crate) fn masked(query: &str) -> String {
    let pairs: Vec<_> = query.split('&').map(masked_pair).collect();
    truncated(&pairs.join("&"))
}

/// `text` without its end, if it is long.
pub(crate) fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn masked_pair(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    }
}

/// Compares the decoded name: `c%6Fde` is `code`.
fn is_secret(name: &str) -> bool {
    form_urlencoded::parse(name.as_bytes()).any(|(name, _)| SECRETS.contains(&name.as_ref()))
}

//! What was asked of a provider: the last requests, with their secrets masked.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use serde::Serialize;
use url::form_urlencoded;

/// How many requests are remembered.
pub const CAPACITY: usize = 1_000;

/// The parameters whose values are not written down.
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

/// One request and how it was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// When it was answered, in Unix milliseconds.
    pub at: i64,
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query as it came, but for the values of secrets, and for the end of a long
    /// one; empty if there was none.
    pub query: String,
    /// The status of the answer; `null` when the connection was cut instead.
    pub status: Option<u16>,
}

/// The last [`CAPACITY`] requests of one provider.
pub(crate) struct Journal(Mutex<VecDeque<Entry>>);

impl Journal {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(VecDeque::with_capacity(CAPACITY)))
    }

    pub(crate) fn write(&self, entry: Entry) {
        let mut entries = self.lock();
        if entries.len() == CAPACITY {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The entries, oldest first.
    pub(crate) fn read(&self) -> Vec<Entry> {
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

/// The most characters of a path or a query that are written down.
const MOST_CHARACTERS: usize = 4 * 1024;

/// `query` with the values of secrets replaced, and without the end of a long one.
pub(crate) fn masked(query: &str) -> String {
    let pairs: Vec<_> = query.split('&').map(masked_pair).collect();
    cut(&pairs.join("&"))
}

/// `text` without its end, if it is long.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
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

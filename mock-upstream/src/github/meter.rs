//! How many calls of the REST API somebody has made within the hour.

use std::collections::HashMap;
use std::sync::Mutex;

const HOUR_MS: i64 = 60 * 60 * 1000;

/// How many people are counted at a time; beyond them, all begin anew.
const CAPACITY: usize = 10_000;

/// Counts calls, per person.
pub(super) struct Meter(Mutex<HashMap<String, Reading>>);

/// One person's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// This one included.
    pub(super) used: u32,
    /// When the count begins anew.
    pub(super) resets_ms: i64,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// Counts one more call of `who`.
    pub(super) fn count(&self, who: &str, now_ms: i64) -> Reading {
        let mut calls = self.0.lock().expect("nothing panics while it counts");
        if calls.len() == CAPACITY {
            calls.clear();
        }
        let reading = calls.entry(who.to_owned()).or_insert(Reading {
            used: 0,
            resets_ms: 0,
        });
        if now_ms >= reading.resets_ms {
            *reading = Reading {
                used: 0,
                resets_ms: now_ms + HOUR_MS,
            };
        }
        reading.used += 1;
        *reading
    }

    pub(super) fn clear(&self) {
        self.0
            .lock()
            .expect("nothing panics while it counts")
            .clear();
    }
}

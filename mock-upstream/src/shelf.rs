//! Things that are kept for a while under a key nobody can guess: pending
//! sign-ins, codes, tokens.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

/// How many things fit; a fuller shelf drops its oldest.
///
/// Enough for every test, and small enough that a stack may run for weeks.
const CAPACITY: usize = 10_000;

/// A bounded store of things that end.
pub(crate) struct Shelf<T>(Mutex<Kept<T>>);

struct Kept<T> {
    by_key: HashMap<String, Thing<T>>,
    oldest_first: VecDeque<String>,
}

struct Thing<T> {
    content: T,
    ends_ms: i64,
}

impl<T> Shelf<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Kept {
            by_key: HashMap::new(),
            oldest_first: VecDeque::new(),
        }))
    }

    /// Keeps `content` under `key` until `ends_ms`.
    pub(crate) fn put(&self, key: String, content: T, ends_ms: i64) {
        let mut kept = self.lock();
        if kept.oldest_first.len() == CAPACITY {
            let oldest = kept.oldest_first.pop_front().unwrap_or_default();
            kept.by_key.remove(&oldest);
        }
        kept.oldest_first.push_back(key.clone());
        kept.by_key.insert(key, Thing { content, ends_ms });
    }

    /// Takes what is kept under `key`: the second taker finds nothing.
    pub(crate) fn take(&self, key: &str, now_ms: i64) -> Option<T> {
        let thing = self.lock().by_key.remove(key)?;
        (now_ms < thing.ends_ms).then_some(thing.content)
    }

    /// Empties the shelf.
    pub(crate) fn clear(&self) {
        let mut kept = self.lock();
        kept.by_key.clear();
        kept.oldest_first.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Kept<T>> {
        self.0
            .lock()
            .expect("nothing panics while it holds a shelf")
    }
}

impl<T: Clone> Shelf<T> {
    /// A copy of what is kept under `key`, which stays.
    pub(crate) fn look(&self, key: &str, now_ms: i64) -> Option<T> {
        let kept = self.lock();
        let thing = kept.by_key.get(key)?;
        (now_ms < thing.ends_ms).then(|| thing.content.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_shelf_drops_its_oldest() {
        let shelf = Shelf::new();
        for number in 0..=CAPACITY {
            shelf.put(number.to_string(), number, i64::MAX);
        }
        assert_eq!(shelf.take("0", 0), None);
        assert_eq!(shelf.take("1", 0), Some(1));
        assert_eq!(shelf.lock().oldest_first.len(), CAPACITY);
    }
}

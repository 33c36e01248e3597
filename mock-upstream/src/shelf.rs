//! Things that are kept for a while under a key nobody can guess: pending
//! sign-ins, codes, tokens.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

/// How many things fit; a fuller shelf drops its oldest.
///
/// Enough for every test, and small enough that a stack may run for weeks.
const CAPACITY: usize = 10_000;

/// The number of bytes that fit; beyond it the oldest are dropped, too. A browser
/// chooses the length of its `state` and its `nonce`.
pub(crate) const MOST_BYTES: usize = 8 * 1024 * 1024;

/// A value whose size on the heap is known.
pub(crate) trait Content {
    /// The bytes that it holds beside its own size.
    fn heap_bytes(&self) -> usize;
}

/// A bounded store of things that end.
pub(crate) struct Shelf<T>(Mutex<Kept<T>>);

struct Kept<T> {
    by_key: HashMap<String, Thing<T>>,
    oldest_first: VecDeque<String>,
    bytes: usize,
}

struct Thing<T> {
    content: T,
    ends_ms: i64,
    bytes: usize,
}

impl<T> Kept<T> {
    fn remove(&mut self, key: &str) -> Option<Thing<T>> {
        let thing = self.by_key.remove(key)?;
        self.bytes -= thing.bytes;
        Some(thing)
    }
}

impl<T: Content> Shelf<T> {
    /// Keeps `content` under `key` until `ends_ms`.
    pub(crate) fn put(&self, key: String, content: T, ends_ms: i64) {
        let bytes = key.len() + size_of::<Thing<T>>() + content.heap_bytes();
        let thing = Thing {
            content,
            ends_ms,
            bytes,
        };
        let mut kept = self.lock();
        kept.remove(&key);
        kept.bytes += bytes;
        kept.oldest_first.push_back(key.clone());
        kept.by_key.insert(key, thing);
        while kept.oldest_first.len() > CAPACITY || kept.bytes > MOST_BYTES {
            let Some(oldest) = kept.oldest_first.pop_front() else {
                break;
            };
            kept.remove(&oldest);
        }
    }
}

impl<T> Shelf<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Kept {
            by_key: HashMap::new(),
            oldest_first: VecDeque::new(),
            bytes: 0,
        }))
    }

    /// Takes what is kept under `key`: the second taker finds nothing.
    pub(crate) fn take(&self, key: &str, now_ms: i64) -> Option<T> {
        let thing = self.lock().remove(key)?;
        (now_ms < thing.ends_ms).then_some(thing.content)
    }

    /// The bytes that it holds.
    pub(crate) fn bytes_held(&self) -> usize {
        self.lock().bytes
    }

    /// Empties the shelf.
    pub(crate) fn clear(&self) {
        let mut kept = self.lock();
        kept.by_key.clear();
        kept.oldest_first.clear();
        kept.bytes = 0;
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

impl Content for () {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Content for Option<String> {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, String::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_bytes(length: usize) -> Option<String> {
        Some("a".repeat(length))
    }

    #[test]
    fn a_full_shelf_drops_its_oldest() {
        let shelf = Shelf::new();
        for number in 0..=CAPACITY {
            shelf.put(number.to_string(), (), i64::MAX);
        }
        assert_eq!(shelf.take("0", 0), None);
        assert_eq!(shelf.take("1", 0), Some(()));
        assert_eq!(shelf.lock().oldest_first.len(), CAPACITY);
    }

    #[test]
    fn a_shelf_holds_no_more_bytes_than_fit_and_drops_its_oldest() {
        let shelf = Shelf::new();
        for number in 0..200 {
            shelf.put(number.to_string(), of_bytes(100 * 1024), i64::MAX);
            assert!(shelf.bytes_held() <= MOST_BYTES, "{}", shelf.bytes_held());
        }
        assert_eq!(shelf.take("0", 0), None);
        assert!(shelf.take("199", 0).is_some());
    }

    #[test]
    fn what_is_taken_or_replaced_holds_no_bytes() {
        let shelf = Shelf::new();
        for length in [1_000, 10] {
            shelf.put("one".to_owned(), of_bytes(length), i64::MAX);
        }
        assert!(shelf.bytes_held() < 1_000, "{}", shelf.bytes_held());
        shelf.take("one", 0);
        assert_eq!(shelf.bytes_held(), 0);
    }
}

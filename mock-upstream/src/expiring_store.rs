//! A bounded store of values that expire: pending sign-ins, codes and tokens. It knows the
//! size of its values by their [`HeapSize`].

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

/// The maximum number of entries; a fuller store drops its oldest.
///
/// It suffices for every test, and is small enough for a stack that runs for weeks.
const MAX_ENTRIES: usize = 10_000;

/// The maximum number of bytes; a fuller store drops its oldest entries. A browser
/// chooses the length of its `state` and its `nonce`.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// A store of values under unguessable keys.
pub(crate) struct ExpiringStore<T>(Mutex<Entries<T>>);

struct Entries<T> {
    by_key: HashMap<String, Entry<T>>,
    oldest_first: VecDeque<String>,
    bytes: usize,
}

struct Entry<T> {
    value: T,
    expires_ms: i64,
    bytes: usize,
}

impl<T> Entries<T> {
    fn remove(&mut self, key: &str) -> Option<Entry<T>> {
        let entry = self.by_key.remove(key)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

impl<T: HeapSize> ExpiringStore<T> {
    /// Keeps `value` under `key` until `expires_ms`.
    pub(crate) fn put(&self, key: String, value: T, expires_ms: i64) {
        let bytes = key.len() + size_of::<Entry<T>>() + value.heap_bytes();
        let entry = Entry {
            value,
            expires_ms,
            bytes,
        };
        let mut entries = self.lock();
        if entries.remove(&key).is_some() {
            entries.oldest_first.retain(|known| *known != key);
        }
        entries.bytes += bytes;
        entries.oldest_first.push_back(key.clone());
        entries.by_key.insert(key, entry);
        while entries.oldest_first.len() > MAX_ENTRIES || entries.bytes > MAX_BYTES {
            let Some(oldest) = entries.oldest_first.pop_front() else {
                break;
            };
            entries.remove(&oldest);
        }
    }
}

impl<T> Default for ExpiringStore<T> {
    fn default() -> Self {
        Self(Mutex::new(Entries {
            by_key: HashMap::new(),
            oldest_first: VecDeque::new(),
            bytes: 0,
        }))
    }
}

impl<T> ExpiringStore<T> {
    /// Removes the value under `key` and returns it, unless it has expired. Of several
    /// callers one gets it.
    pub(crate) fn take(&self, key: &str, now_ms: i64) -> Option<T> {
        let entry = self.lock().remove(key)?;
        (now_ms < entry.expires_ms).then_some(entry.value)
    }

    /// Reads the value under `key`, which stays.
    pub(crate) fn read<R>(&self, key: &str, now_ms: i64, read: impl FnOnce(&T) -> R) -> Option<R> {
        let entries = self.lock();
        let entry = entries.by_key.get(key)?;
        (now_ms < entry.expires_ms).then(|| read(&entry.value))
    }

    pub(crate) fn bytes_held(&self) -> usize {
        self.lock().bytes
    }

    pub(crate) fn clear(&self) {
        let mut entries = self.lock();
        entries.by_key.clear();
        entries.oldest_first.clear();
        entries.bytes = 0;
    }

    fn lock(&self) -> MutexGuard<'_, Entries<T>> {
        self.0
            .lock()
            .expect("nothing panics while it holds a store")
    }
}

/// A value that knows its size on the heap.
pub(crate) trait HeapSize {
    /// The bytes on the heap, beside the size of the value itself.
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl HeapSize for () {}

impl HeapSize for Option<String> {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, String::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_store_drops_its_oldest_entry() {
        let store = ExpiringStore::default();
        for number in 0..=MAX_ENTRIES {
            store.put(number.to_string(), (), i64::MAX);
        }
        assert_eq!(store.take("0", 0), None);
        assert_eq!(store.take("1", 0), Some(()));
        assert_eq!(store.lock().oldest_first.len(), MAX_ENTRIES);
    }

    #[test]
    fn a_value_that_was_taken_or_replaced_holds_no_bytes() {
        let store = ExpiringStore::default();
        for length in [1_000, 10] {
            store.put("one".to_owned(), Some("a".repeat(length)), i64::MAX);
        }
        assert!(store.bytes_held() < 1_000, "{}", store.bytes_held());
        store.take("one", 0);
        assert_eq!(store.bytes_held(), 0);
    }
}

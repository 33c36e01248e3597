//! Counts the code exchanges in the journals of the imitated providers. A journal keeps only
//! the latest requests, so it is read often.

use std::collections::BTreeMap;

use mock_upstream::journal::Entry;
use mock_upstream::{MockUpstream, Provider};

/// The exchanges at both providers so far.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// Every one of them, by path and status; none, where the connection was cut.
    pub(super) counts: BTreeMap<(String, Option<u16>), u64>,
    /// The journals as they were read last.
    last: [Vec<Entry>; 2],
}

impl Exchanges {
    /// Counts what came to the journals since they were read last.
    pub(super) fn read(&mut self, upstream: &MockUpstream) {
        for (last, provider) in self.last.iter_mut().zip(Provider::ALL) {
            let journal = upstream.provider(provider).journal();
            let fresh = &journal[overlap(last, &journal)..];
            for entry in fresh.iter().filter(|it| is_exchange(it)) {
                let kind = (entry.path.clone(), entry.status);
                *self.counts.entry(kind).or_default() += 1;
            }
            *last = journal;
        }
    }
}

impl Exchanges {
    /// The number of them.
    pub(super) fn count(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Whether the entry is an exchange of a code, each of which is in the log.
fn is_exchange(entry: &Entry) -> bool {
    entry.method == "POST" && entry.path.contains("token")
}

/// The number of entries at the end of `last` with which `next` begins.
fn overlap<T: PartialEq>(last: &[T], next: &[T]) -> usize {
    let longest = last.len().min(next.len());
    let agrees = |count: &usize| last[last.len() - count..] == next[..*count];
    (0..=longest).rev().find(agrees).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn a_journal_that_has_lost_its_beginning_goes_on_where_it_was() {
        assert_eq!(overlap(&[1, 2, 3], &[1, 2, 3, 4]), 3);
        assert_eq!(overlap(&[1, 2, 3], &[3, 4, 5]), 1);
        assert_eq!(overlap(&[1, 2, 3], &[4, 5, 6]), 0);
        assert_eq!(overlap(&[], &[1]), 0);
    }
}

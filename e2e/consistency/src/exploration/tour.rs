//! Walks over a graph that take each of its transitions once, shared by all who walk.

use std::collections::HashSet;

use parking_lot::Mutex;

use super::graph::{Graph, Transition};

/// The transitions that are not taken yet.
pub(crate) struct Tour {
    left: Mutex<Left>,
}

struct Left {
    /// By state, the one that is taken next at the end.
    transitions: Vec<Vec<Transition>>,
    /// No state before this one has any.
    first: usize,
}

impl Tour {
    /// A tour over the transitions of every `every`-th state, and over the first of each kind:
    /// a line with its answer, and the line that led to its state.
    pub(crate) fn of(graph: &Graph, every: usize) -> Self {
        let mut kinds = HashSet::new();
        let transitions = graph.states.iter().enumerate().map(|(number, state)| {
            let mut left = state.transitions.clone();
            let led_here = state.before.map(|(_, line)| line);
            left.retain(|it| {
                let is_first = kinds.insert((led_here, it.line, it.answer.clone()));
                is_first || number.is_multiple_of(every)
            });
            // A walk goes on by one of those that lead to another state.
            left.sort_by_key(|it| it.leads_to == number);
            left
        });
        let left = Left {
            transitions: transitions.collect(),
            first: 0,
        };
        Self {
            left: Mutex::new(left),
        }
    }

    /// The number of transitions that are left.
    pub(crate) fn left(&self) -> usize {
        self.left.lock().transitions.iter().map(Vec::len).sum()
    }

    /// A state that has transitions left.
    pub(crate) fn next_state(&self) -> Option<usize> {
        let mut left = self.left.lock();
        while left.transitions.get(left.first)?.is_empty() {
            left.first += 1;
        }
        Some(left.first)
    }

    /// Takes one more transition of a state.
    pub(crate) fn take(&self, state: usize) -> Option<Transition> {
        self.left.lock().transitions[state].pop()
    }
}

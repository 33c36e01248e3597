//! The states that the model reaches in a world, and every transition between them, by a
//! breadth-first search.

use std::collections::HashMap;

use checker::model::Answer;

use super::script::{Line, TimedModel};
use super::world::World;

/// The states of a world, numbered in the order of the search: 0 is the beginning.
pub(crate) struct Graph {
    pub(crate) states: Vec<State>,
}

/// One state.
pub(crate) struct State {
    /// The model at the end of a shortest path to the state.
    pub(crate) timed: TimedModel,
    /// The state before it on that path, and the line between them.
    pub(crate) before: Option<(usize, Line)>,
    pub(crate) transitions: Vec<Transition>,
}

/// A line that can come next, its answer, and the state that it leads to.
#[derive(Debug, Clone)]
pub(crate) struct Transition {
    pub(crate) line: Line,
    pub(crate) answer: Option<Answer>,
    pub(crate) leads_to: usize,
}

impl Graph {
    /// Enumerates a world.
    pub(crate) fn of(world: &World) -> Self {
        let beginning = TimedModel::default();
        let mut known = HashMap::from([(beginning.observable(), 0)]);
        let mut states = vec![State::at(beginning, None)];
        let mut next = 0;
        while next < states.len() {
            for line in world.lines(&states[next].timed) {
                let mut after = states[next].timed.clone();
                let answer = after.step(line);
                let leads_to = *known.entry(after.observable()).or_insert(states.len());
                if leads_to == states.len() {
                    states.push(State::at(after, Some((next, line))));
                }
                states[next].transitions.push(Transition {
                    line,
                    answer,
                    leads_to,
                });
            }
            next += 1;
        }
        Self { states }
    }

    /// The lines of a shortest path from the beginning to a state.
    pub(crate) fn path_to(&self, mut state: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some((before, line)) = self.states[state].before {
            lines.push(line);
            state = before;
        }
        lines.reverse();
        lines
    }

    /// The number of transitions.
    pub(crate) fn transitions(&self) -> usize {
        self.states.iter().map(|it| it.transitions.len()).sum()
    }
}

impl State {
    fn at(timed: TimedModel, before: Option<(usize, Line)>) -> Self {
        Self {
            timed,
            before,
            transitions: Vec::new(),
        }
    }
}

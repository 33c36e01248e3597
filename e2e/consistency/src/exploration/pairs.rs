//! The pairs of operations whose order makes a difference, found by the model.

use std::collections::BTreeMap;
use std::fmt;

use checker::model::{Answer, Step};

use checker::history::variant;

use super::graph::Graph;
use super::script::{Line, TimedModel};
use super::world::World;

/// Two operations on one value, in a state in which their order makes a difference.
pub(crate) struct Pair<'g> {
    pub(crate) world: &'g World,
    pub(crate) graph: &'g Graph,
    /// The number of the state.
    pub(crate) state: usize,
    pub(crate) steps: [Step; 2],
    /// Their answers, in the same order, where the first is the first to commit, and where
    /// the second is.
    pub(crate) answers: [[Answer; 2]; 2],
}

impl fmt::Display for Pair<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.steps;
        write!(f, "\"{first}\" and \"{second}\" at once")
    }
}

/// Each pair that is another to a client or to a broker, in the first state that has it.
pub(crate) fn of<'g>(graphs: &'g [(&World, Graph)]) -> Vec<Pair<'g>> {
    let mut pairs = BTreeMap::new();
    let states = graphs.iter().flat_map(|(world, graph)| {
        let states = graph.states.iter().enumerate();
        states.map(move |(number, state)| (*world, graph, number, state))
    });
    for (world, graph, number, state) in states {
        let steps = state.transitions.iter().filter_map(|it| match it.line {
            Line::Do(Step::SignIn { .. }) | Line::Clock { .. } => None,
            Line::Do(step) => Some(step),
        });
        let steps: Vec<_> = steps.collect();
        for (index, first) in steps.iter().enumerate() {
            for second in &steps[index..] {
                let both = [*first, second.again(1)];
                if is_of_a_stranger(&state.timed, both) {
                    continue;
                }
                if let Some(answers) = answers_by_order(&state.timed, both) {
                    let [first, second] = both;
                    let names = [variant(&first), variant(&second)];
                    let is_one_visitor = first.by() == second.by();
                    let name = format!("{names:?} {is_one_visitor} {answers:?}");
                    pairs.entry(name).or_insert(Pair {
                        world,
                        graph,
                        state: number,
                        steps: both,
                        answers,
                    });
                }
            }
        }
    }
    pairs.into_values().collect()
}

/// Whether one browser takes both steps before it got a cookie: then it is two browsers.
fn is_of_a_stranger(timed: &TimedModel, [first, second]: [Step; 2]) -> bool {
    let Some(visitor) = first.by().filter(|it| second.by() == Some(*it)) else {
        return false;
    };
    let mut begun = timed.model.upstream_logins.values();
    begun.all(|it| it.visitor != visitor)
}

/// The answers to both steps in either order; none, if the order makes no difference.
fn answers_by_order(timed: &TimedModel, [first, second]: [Step; 2]) -> Option<[[Answer; 2]; 2]> {
    let (mut one, mut other) = (timed.clone(), timed.clone());
    let (a, b) = (one.take(first), one.take(second));
    let (d, c) = (other.take(second), other.take(first));
    let differs = (&a, &b) != (&c, &d) || one.observable() != other.observable();
    differs.then_some([[a, b], [c, d]])
}

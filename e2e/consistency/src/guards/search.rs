//! The search for the shortest attacks, breadth first.

use std::collections::{BTreeMap, HashSet};

use super::guard::{Guard, Guards};
use super::step::Step;
use super::world::{Goal, Page, World};

/// The steps to a goal, each of which is needed, and the guards that must be off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attack {
    pub(super) off: Guards,
    /// The goal that it reaches.
    pub goal: Goal,
    /// The steps.
    pub steps: Vec<Step>,
}

/// Searches the states with at most `max_off` guards off, one of `targets` among the last, for
/// the shortest attack on each target. Returns them with the number of states. An attack
/// on no guard counts for every target.
///
/// A guard is switched off at the first step that it would refuse or change. So one search
/// does for all sets of guards.
pub(super) fn search(
    max_off: u32,
    lures: u8,
    mut targets: Guards,
) -> (BTreeMap<Guard, Attack>, usize) {
    let start = World {
        lures,
        ..World::default()
    };
    let mut attacks = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut layer = vec![(start, Vec::new())];
    while !layer.is_empty() {
        let mut next_layer = Vec::new();
        for (world, steps) in layer {
            for step in world.steps() {
                for next in successors(world, step, max_off) {
                    let is_wanted =
                        next.off.count_ones() < max_off.max(1) || next.off & targets != 0;
                    if !is_wanted || !seen.insert(next) {
                        continue;
                    }
                    let steps = [&steps[..], &[step]].concat();
                    let Some(goal) = next.goal() else {
                        next_layer.push((next, steps));
                        continue;
                    };
                    let off = next.off;
                    let attack = Attack { off, goal, steps };
                    if attack.is_minimal(start) {
                        let on = if off == 0 { targets } else { off & targets };
                        for guard in Guard::all_of(on) {
                            attacks.entry(guard).or_insert_with(|| attack.clone());
                        }
                    }
                }
            }
        }
        attacks.keys().for_each(|it: &Guard| targets &= !it.bit());
        layer = next_layer;
    }
    (attacks, seen.len())
}

/// The states after a step: with the guards off that are off before, and with more.
fn successors(world: World, step: Step, max_off: u32) -> Vec<World> {
    let mut found = Vec::new();
    let mut sets = vec![world.off];
    while let Some(off) = sets.pop() {
        let mut next = World { off, ..world };
        let is_taken = next.take(step).is_some();
        let held = std::mem::take(&mut next.held);
        if off.count_ones() < max_off {
            sets.extend(Guard::all_of(held).map(|it| off | it.bit()));
        }
        if is_taken {
            found.push(next);
        }
    }
    found
}

impl Attack {
    /// The guards that are off: one or two.
    pub fn off(&self) -> impl Iterator<Item = Guard> {
        Guard::all_of(self.off)
    }

    /// The page that each step leads to.
    pub fn pages(&self) -> Vec<Page> {
        let (off, lures) = (self.off, 1);
        let mut world = World {
            off,
            lures,
            ..World::default()
        };
        let pages = self.steps.iter().map(|step| world.take(*step));
        pages
            .map(|page| page.expect("a step that is possible"))
            .collect()
    }

    /// Whether it works, and not without one of its steps, nor with one of its guards on.
    fn is_minimal(&self, start: World) -> bool {
        let without = |number: usize| [&self.steps[..number], &self.steps[number + 1..]].concat();
        reaches(start, self.off, &self.steps)
            && !(0..self.steps.len()).any(|it| reaches(start, self.off, &without(it)))
            && !Guard::all_of(self.off).any(|it| reaches(start, self.off & !it.bit(), &self.steps))
    }
}

/// Whether the steps, or the first ones, reach a goal with these guards off.
fn reaches(start: World, off: Guards, steps: &[Step]) -> bool {
    let mut world = World { off, ..start };
    steps.iter().any(|step| {
        // The step after one that is impossible does not count.
        let is_possible = world.steps().contains(step) && world.take(*step).is_some();
        !is_possible || world.goal().is_some()
    }) && world.goal().is_some()
}

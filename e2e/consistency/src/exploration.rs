//! `explore`: every state that one login can reach within the bounds of a [`world`], and every
//! transition between them, enumerated by the model and played to real brokers.

mod brokers;
mod comparison;
mod coverage;
mod graph;
mod overlap;
mod pairs;
mod rows;
mod script;
mod tour;
mod world;

use std::fmt::Write as _;
use std::io::Write as _;
use std::num::NonZeroUsize;

use agent::time::Stopwatch;
use clap::Args;
use indicatif::ProgressBar;
use parking_lot::Mutex;
use rocket::futures::future::try_join_all;

use crate::RunError;
use crate::cluster::Engine;
use crate::run::{bar, duration};
use brokers::Brokers;
use comparison::Comparison;
use graph::Graph;
use overlap::Forced;
use pairs::Pair;
use script::Line;
use tour::Tour;
use world::{WORLDS, World};

/// The part of the transitions to play, and the stores.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// The store [default: each]
    #[arg(long, value_enum)]
    engine: Option<Engine>,
    /// Play the transitions of every n-th state only, and the first of each kind
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroUsize,
    /// Number of databases, each with brokers of its own
    #[arg(long, default_value = "4")]
    databases: NonZeroUsize,
}

/// Runs the plan and prints what was played.
pub(crate) async fn run(plan: Plan) -> Result<(), RunError> {
    let graphs: Vec<_> = WORLDS
        .iter()
        .map(|world| (world, Graph::of(world)))
        .collect();
    let each = vec![Engine::Sqlite, Engine::Postgres];
    let mut out = std::io::stdout();
    for engine in plan.engine.map_or(each, |it| vec![it]) {
        write!(out, "{}", explore(engine, &plan, &graphs).await?)?;
    }
    write!(out, "{}", coverage::left_out())?;
    Ok(())
}

/// Plays everything to the brokers of an engine, and reports it.
async fn explore(
    engine: Engine,
    plan: &Plan,
    graphs: &[(&World, Graph)],
) -> Result<String, RunError> {
    let watch = Stopwatch::start();
    let databases = (0..plan.databases.get()).map(|_| Brokers::start(engine));
    let mut databases = try_join_all(databases).await?;
    let (mut worlds, mut states, mut played) = (String::new(), 0, 0);
    for (world, graph) in graphs {
        let tour = Tour::of(graph, plan.every.get());
        let left = tour.left();
        let bar = bar(left as u64, "transitions");
        let walks = databases
            .iter_mut()
            .map(|it| walk(it, world, graph, &tour, &bar));
        let walked = try_join_all(walks).await;
        bar.finish_and_clear();
        walked?;
        states += graph.states.len();
        played += left;
        let (name, all, states) = (world.name, graph.transitions(), graph.states.len());
        writeln!(
            worlds,
            "  {name}: {states} states, {left} of {all} transitions"
        )?;
    }
    let pairs = pairs::of(graphs);
    let bar = bar(pairs.len() as u64, "pairs");
    let left = Mutex::new(pairs.iter());
    let forced = databases.iter_mut().map(|it| force(it, &left, &bar));
    let forced = try_join_all(forced).await;
    bar.finish_and_clear();
    let forced = forced?.into_iter().fold(Forced::default(), Forced::plus);
    let rules = coverage::check(databases.into_iter().flat_map(|it| it.rules))?;
    Ok(format!(
        "{states} states on {engine}, {played} transitions, {} pairs in both orders, {} overlaps, \
         {} crashes, {rules} rules, {}\n{worlds}",
        pairs.len(),
        forced.overlaps,
        forced.crashes,
        duration(watch.elapsed()),
    ))
}

/// Plays one pair after the other, until none is left.
async fn force<'p>(
    brokers: &mut Brokers,
    pairs: &Mutex<impl Iterator<Item = &'p Pair<'p>>>,
    bar: &ProgressBar,
) -> Result<Forced, RunError> {
    let mut all = Forced::default();
    let next = || pairs.lock().next();
    while let Some(pair) = next() {
        let forced = overlap::force(brokers, pair).await;
        let forced = forced.map_err(|error| format!("{pair}: {error}"))?;
        if !forced.both_orders() {
            return Err(format!("{pair}: only one order could be forced").into());
        }
        all = all.plus(forced);
        bar.inc(1);
    }
    Ok(all)
}

/// Plays one history after the other, until no transition is left.
async fn walk(
    brokers: &mut Brokers,
    world: &World,
    graph: &Graph,
    tour: &Tour,
    bar: &ProgressBar,
) -> Result<(), RunError> {
    while let Some(mut state) = tour.next_state() {
        let mut walked = graph.path_to(state);
        let mut comparison = Comparison::begin(brokers, world).await?;
        let there = comparison.play_all(&walked).await;
        there.map_err(|error| report(&error, &walked))?;
        while let Some(transition) = tour.take(state) {
            walked.push(transition.line);
            if let Err(error) = comparison.play(transition.line).await {
                let mut shortest = graph.path_to(state);
                shortest.push(transition.line);
                let mut again = Comparison::begin(brokers, world).await?;
                return Err(match again.play_all(&shortest).await {
                    Err(error) => report(&error, &shortest),
                    Ok(()) => report(&error, &walked),
                });
            }
            state = transition.leads_to;
            bar.inc(1);
        }
    }
    Ok(())
}

/// A deviation with the lines that lead to it.
fn report(error: &RunError, script: &[Line]) -> RunError {
    let mut text = format!("{error}\nThe way there:\n");
    for line in script {
        let _ = writeln!(text, "  {line}");
    }
    text.into()
}

//! `mutants`: measures how many small changes of the code the tests notice.
//!
//! `mutants sql` changes the store's SQL, one condition at a time, in a copy of the last
//! commit, and runs the broker's tests on each mutant. `mutants score` reads what
//! `cargo-mutants`, which changes Rust, has written. Both give a
//! [`Score`](scores::Score), which must not be below the published one in
//! `e2e/mutants/scores.json`.

mod scores;
mod sql;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use scores::{Score, Scores};
use tree::Tree;

/// The mutated file, from the top of the tree.
const STATEMENTS: &str = "broker/src/store/sql.rs";

/// The suites that may notice a mutant, quickest first.
const SUITES: [&str; 2] = ["storage::", ""];

#[derive(Parser)]
#[command(name = "mutants", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Mutate each SQL statement of the store and run the broker's tests on each mutant
    Sql {
        /// List the mutants and run nothing
        #[arg(long)]
        list: bool,
        /// Run only the mutants whose name contains TEXT
        #[arg(long, value_name = "TEXT", default_value = "")]
        only: String,
        #[command(flatten)]
        publish: Publish,
    },
    /// Compare what cargo-mutants wrote to FOLDER with the published score of NAME
    Score {
        /// The name in scores.json
        name: String,
        /// The folder `mutants.out`
        folder: PathBuf,
        #[command(flatten)]
        publish: Publish,
    },
}

#[derive(clap::Args)]
struct Publish {
    /// Write the score to e2e/mutants/scores.json instead of comparing it
    #[arg(long)]
    publish: bool,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            report(&format!("mutants: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<bool, Failure> {
    match command {
        Command::Sql {
            list: true, only, ..
        } => {
            let source = std::fs::read_to_string(STATEMENTS)?;
            for mutant in selected(&source, &only) {
                print(&mutant.name);
            }
            Ok(true)
        }
        Command::Sql { only, publish, .. } => {
            let score = run_sql(&only)?;
            match only.is_empty() {
                true => conclude("sql", score, &publish),
                false => {
                    print(&score.to_string());
                    Ok(score.survivors.is_empty())
                }
            }
        }
        Command::Score {
            name,
            folder,
            publish,
        } => conclude(&name, Score::of_cargo_mutants(&folder)?, &publish),
    }
}

fn conclude(name: &str, score: Score, publish: &Publish) -> Result<bool, Failure> {
    for survivor in &score.survivors {
        print(&format!("not caught: {survivor}"));
    }
    print(&format!("{name}: {score}"));
    let mut scores = Scores::read()?;
    if publish.publish {
        scores.publish(name, score)?;
        return Ok(true);
    }
    let verdict = scores.compare(name, &score);
    if let Err(error) = &verdict {
        report(error);
    }
    Ok(verdict.is_ok())
}

fn selected(source: &str, only: &str) -> Vec<sql::Mutant> {
    let mut mutants = sql::mutants(source);
    mutants.retain(|mutant| mutant.name.contains(only));
    mutants
}

/// Runs the tests on each mutant in a copy of the tree.
fn run_sql(only: &str) -> Result<Score, Failure> {
    let tree = Tree::copy()?;
    let source = tree.read(STATEMENTS)?;
    let mutants = selected(&source, only);
    if mutants.is_empty() {
        return Err(format!("no mutant's name contains {only:?}: see mutants sql --list").into());
    }
    if !passes(&tree)? {
        return Err("the tests fail on the unchanged tree".into());
    }
    let bar = bar(mutants.len());
    let mut score = Score::default();
    for mutant in mutants {
        bar.set_message(mutant.name.clone());
        tree.write(STATEMENTS, &mutant.source)?;
        score.count(mutant.name, !passes(&tree)?);
        bar.inc(1);
    }
    tree.write(STATEMENTS, &source)?;
    bar.finish_and_clear();
    Ok(score)
}

fn passes(tree: &Tree) -> Result<bool, Failure> {
    for suite in SUITES {
        let arguments = ["-p", "broker", "--features", "postgres", "--test", "it"];
        if !tree.test(&[arguments.as_slice(), &["--", suite]].concat())? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn bar(mutants: usize) -> ProgressBar {
    let bar = ProgressBar::new(mutants as u64);
    match ProgressStyle::with_template("{bar:30} {pos}/{len} {eta_precise} left  {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[expect(clippy::print_stdout, reason = "it is what the command prints")]
fn print(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "it is what the command complains of")]
fn report(line: &str) {
    eprintln!("{line}");
}

/// A path from the top of the tree, where `just` starts every command.
fn scores_file() -> &'static Path {
    Path::new("e2e/mutants/scores.json")
}

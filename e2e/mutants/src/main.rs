//! `mutants` reads what `cargo-mutants` has written about a set of mutants and compares the
//! [`Score`](scores::Score) with the published one in `e2e/mutants/scores.json`, which it must
//! not be below.

mod scores;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use scores::{Score, Scores};

#[derive(Parser)]
#[command(name = "mutants", version, about)]
struct Arguments {
    /// The name of the set in scores.json
    set: String,
    /// The folder `mutants.out`
    folder: PathBuf,
    /// Every how many-th mutant of the set was tried
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Write the score to scores.json instead of comparing it
    #[arg(long)]
    publish: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&format!("mutants: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let score = Score::of_cargo_mutants(&arguments.folder, arguments.every)?;
    for survivor in &score.survivors {
        print(&format!("not caught: {survivor}"));
    }
    print(&format!("{}: {score}", arguments.set));
    let mut scores = Scores::read()?;
    if arguments.publish {
        scores.publish(&arguments.set, score)?;
    } else {
        scores.compare(&arguments.set, &score)?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "it is what the command prints")]
fn print(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "it is what the command complains of")]
fn report(line: &str) {
    eprintln!("{line}");
}

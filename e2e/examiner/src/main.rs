//! The program `examine`.

use std::process::ExitCode;

use clap::Parser as _;
use examiner::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    Cli::parse().run().await
}

//! The program `stack`.

use std::process::ExitCode;

use clap::Parser as _;
use stack::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    Cli::parse().run().await
}

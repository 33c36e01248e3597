//! The program `broker`.

use std::process::ExitCode;

use broker::cli::Cli;
use clap::Parser as _;

#[tokio::main]
async fn main() -> ExitCode {
    Cli::parse().run().await
}

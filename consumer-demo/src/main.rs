//! The program `consumer-demo`.

use std::process::ExitCode;

use clap::Parser as _;
use consumer_demo::cli::Arguments;

#[tokio::main]
async fn main() -> ExitCode {
    Arguments::parse().serve().await
}

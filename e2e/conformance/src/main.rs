//! The program `conformance`.

use std::process::ExitCode;

use clap::Parser as _;
use conformance::cli::Settings;

#[tokio::main]
async fn main() -> ExitCode {
    Settings::parse().run().await
}

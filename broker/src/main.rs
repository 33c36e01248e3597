//! The command line: `serve`, `check`, `new-project`, `new-secret`.

mod cli;

use std::process::ExitCode;

use clap::Parser as _;

#[tokio::main]
async fn main() -> ExitCode {
    match cli::Cli::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::print_error(&*error);
            ExitCode::FAILURE
        }
    }
}

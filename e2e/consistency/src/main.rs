//! The program `consistency`; the library has the rest.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

#[tokio::main]
async fn main() -> ExitCode {
    match consistency::run(consistency::Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "consistency: {error}");
            ExitCode::FAILURE
        }
    }
}

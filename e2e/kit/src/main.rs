//! The program `signin-kit`: the kit's programs as commands of one.
//!
//! | command | the same as the program |
//! |---|---|
//! | `up` | `stack` |
//! | `broker` | `broker` |
//! | `consumer` | `consumer-demo` |
//! | `conformance` | `conformance` |
//! | `examine` | `examine` |
//! | `practice` | none: exercises with the examiner |
//! | `parity` | none: the real providers beside the imitations |
//! | `mcp` | none: the stack, the examiner and the conformance runner as tools of coding agents |
//!
//! Flags, environment variables, messages and exit statuses are those of the programs,
//! because both call the same code.

mod mcp;
mod parity;

use std::process::ExitCode;

use clap::Parser;

const START_HERE: &str = "\
Start here: signin-kit up, and then open http://127.0.0.1:8010. It serves every document at /docs, \
whole apps in seven languages at /source, and all that a coding agent needs at /llms.txt.";

/// A sign-in broker, imitations of Google and GitHub, a demo, a conformance runner, and an
/// examiner of consumers.
#[derive(Parser)]
#[command(name = "signin-kit", version, after_help = START_HERE)]
enum Cli {
    /// Start the whole stack: demo, broker, imitated Google and GitHub
    Up(stack::cli::Cli),
    /// Run the broker alone, check its configuration, make credentials
    Broker(broker::cli::Cli),
    /// Run the demo alone against any broker
    Consumer(consumer_demo::cli::Arguments),
    /// Test any broker against the contract
    #[command(after_help = conformance::cli::after_help("signin-kit conformance"))]
    Conformance(conformance::cli::Settings),
    /// Grade a consumer: is this app correct and safe?
    #[command(after_help = examiner::cli::after_help("signin-kit examine"))]
    Examine(Box<examiner::cli::Cli>),
    Practice(examiner::practice::Cli),
    #[command(after_help = parity::AFTER_HELP)]
    Parity(parity::Cli),
    Mcp(mcp::Settings),
}

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse() {
        Cli::Up(stack) => stack.run().await,
        Cli::Broker(broker) => broker.run().await,
        Cli::Consumer(demo) => demo.serve().await,
        Cli::Conformance(settings) => settings.run().await,
        Cli::Examine(examine) => examine.run().await,
        Cli::Practice(practice) => practice.run().await,
        Cli::Parity(parity) => parity.run().await,
        Cli::Mcp(mcp) => mcp.run().await,
    }
}

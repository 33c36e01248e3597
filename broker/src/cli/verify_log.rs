//! `broker verify-log`: judges the JSON logs of brokers by the reference model, and reports in
//! words or as JSON.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

/// The logs, and the form of the report.
#[derive(Debug, Args)]
#[command(after_help = VERDICTS)]
pub(super) struct VerifyLog {
    /// A log that a broker wrote with log.format = "json"; /dev/stdin is standard input.
    /// Give the log of each broker as a file of its own
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The most by which the clocks of the brokers' machines differ, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(i64).range(0..=60_000))]
    skew_ms: i64,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

const VERDICTS: &str = "\
A login whose lines the model explains used each of its values once. Any other breaks a rule, \
unless lines of it may be missing: at the beginning and the end of a log, and where a broker was \
killed or its store failed. Then it is undecided, if no line that is there uses a value again.

The exit status is 0 if no login breaks a rule, 2 if one does, and 1 if a log cannot be judged.";

impl VerifyLog {
    /// Prints the report.
    pub(super) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let mut logs = Vec::new();
        for path in &self.files {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| format!("cannot read {name}: {error}"))?;
            logs.push((name, BufReader::new(file)));
        }
        let report = checker::log::verify(logs, self.skew_ms)?;
        let mut out = io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?,
            false => write!(out, "{report}")?,
        }
        let is_broken = report.broken > 0;
        Ok(if is_broken {
            ExitCode::from(2)
        } else {
            ExitCode::SUCCESS
        })
    }
}

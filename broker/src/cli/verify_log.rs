//! `broker verify-log`: judges the JSON logs of brokers by the reference model, and reports in
//! words or as JSON.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

/// The logs, and the form of the report.
#[derive(Debug, Args)]
#[command(after_help = VERDICTS)]
pub(super) struct VerifyLog {
    /// A log that a broker wrote with log.format = "json"; "-" is standard input.
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
A login whose lines the model explains used each of its values once. One that only operations \
without a line would explain is undecided, because lines may be missing: at the beginning and the \
end of a log, and where a broker was killed or its store failed. Any other breaks a rule.

The exit status is 0 if no login breaks a rule, 1 if one does, and 2 if a log cannot be judged.";

impl VerifyLog {
    /// Prints the report.
    pub(super) fn run(&self) -> ExitCode {
        match self.report() {
            Ok(0) => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            Err(error) => {
                super::print_error(&*error);
                ExitCode::from(2)
            }
        }
    }

    /// Prints the report, and returns the number of logins that break a rule.
    fn report(&self) -> Result<u64, Box<dyn Error>> {
        let logs = self.files.iter().map(|path| open(path));
        let logs = logs.collect::<Result<Vec<_>, _>>()?;
        let report = checker::log::verify(logs, self.skew_ms)?;
        let mut out = io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?,
            false => write!(out, "{report}")?,
        }
        Ok(report.broken)
    }
}

/// A log with its name.
fn open(path: &Path) -> Result<(String, Box<dyn BufRead>), String> {
    let name = path.display().to_string();
    if name == "-" {
        return Ok((name, Box::new(io::stdin().lock())));
    }
    match File::open(path) {
        Ok(file) => Ok((name, Box::new(BufReader::new(file)))),
        Err(error) => Err(format!("cannot read {name}: {error}")),
    }
}

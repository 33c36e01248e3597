//! `signin-kit parity`: what real Google or GitHub answers, beside what its imitation does.

mod callback;
mod probes;
mod report;
mod shape;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;

use mock_upstream::{Client, MockUpstream, Provider, Settings};
use url::Url;

use callback::Callback;
use probes::{Answers, Probes, record};

/// Compare the real Google or GitHub with its imitation, by a client of yours
///
/// Asks the provider everything that a sign-in asks, right and wrong, and records the shapes of
/// its answers in parity-google.json or parity-github.json: statuses, headers, names, types.
/// No secret is written. The imitation gets the same requests, and what differs is printed as a
/// table in Markdown. It takes a browser and a few minutes; at the end, it revokes its tokens.
#[derive(clap::Args)]
pub(crate) struct Cli {
    /// google or github
    provider: Provider,

    /// The id of your client at the provider
    #[arg(long, value_name = "ID", required_unless_present = "recording")]
    client_id: Option<String>,

    /// A file with its secret; /dev/stdin reads it from standard input
    #[arg(long, value_name = "FILE", required_unless_present = "recording")]
    secret_file: Option<String>,

    /// The address of this machine to which the browser returns; register it at the provider
    /// exactly so
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://localhost:8765/callback"
    )]
    callback: Url,

    /// Compare an earlier recording, and ask no provider
    #[arg(long, value_name = "FILE")]
    recording: Option<String>,

    /// Ask this address in place of the provider, to test the command against an imitation
    #[arg(long, value_name = "URL")]
    base: Option<Url>,
}

pub(crate) const AFTER_HELP: &str = "\
Exit status: 0 when nothing differs, 1 when something does, 2 when nothing could be compared.

Examples:
  signin-kit parity google --client-id ….apps.googleusercontent.com --secret-file secret.txt
  signin-kit parity github --recording parity-github.json > differences.md";

impl Cli {
    pub(crate) async fn run(self) -> ExitCode {
        match self.compare().await {
            Ok(is_same) => ExitCode::from(u8::from(!is_same)),
            Err(error) => {
                let _ = writeln!(io::stderr(), "parity: {error}");
                ExitCode::from(2)
            }
        }
    }

    /// Prints the differences, and returns whether there are none.
    async fn compare(&self) -> Result<bool, Box<dyn Error>> {
        let provider = self.provider;
        let probes: Probes = toml::from_str(match provider {
            Provider::Google => include_str!("parity/google.toml"),
            Provider::GitHub => include_str!("parity/github.toml"),
        })?;
        let file = match &self.recording {
            Some(file) => file.clone(),
            None => self.record(&probes).await?,
        };
        let real = recorded(&file, provider)?;
        let imitation = imitation(provider, &probes).await?;
        let rows = report::rows(&real, &imitation, &probes.varies);
        let title = format!("differences in {} answers: {}", imitation.len(), rows.len());
        let head = format!("| request | part | {provider} | imitation |\n|---|---|---|---|");
        let table = rows.concat();
        writeln!(io::stdout(), "# {provider}, {title}\n\n{head}\n{table}")?;
        Ok(rows.is_empty())
    }

    /// Asks the provider, and returns the file with the recording.
    async fn record(&self, probes: &Probes) -> Result<String, Box<dyn Error>> {
        let [id, file] = [&self.client_id, &self.secret_file];
        let [id, file] = [id, file].map(|it| it.as_deref().unwrap_or_default());
        let secret = fs::read_to_string(file);
        let secret = secret.map_err(|error| format!("--secret-file {file}: {error}"))?;
        let callback = Callback::listen(&self.callback).await?;
        let client = [id, secret.trim(), self.callback.as_str()];
        let answers = record(probes, client, self.base.clone(), Some(callback)).await?;
        let recording = BTreeMap::from([(format(self.provider), answers)]);
        let file = format!("parity-{}.json", self.provider.name());
        let text = serde_json::to_string_pretty(&recording)?;
        fs::write(&file, text).map_err(|error| format!("{file}: {error}"))?;
        Ok(file)
    }
}

/// The only member of a recording's file.
fn format(provider: Provider) -> String {
    format!("the shapes of {provider}'s answers, version 1")
}

fn recorded(file: &str, provider: Provider) -> Result<Answers, String> {
    let text = fs::read_to_string(file);
    let text = text.map_err(|error| format!("--recording {file}: {error}"))?;
    let recording: Option<BTreeMap<String, Answers>> = serde_json::from_str(&text).ok();
    let answers = recording.and_then(|mut it| it.remove(&format(provider)));
    let problem = || format!("--recording {file} is none of {provider}, or by another version");
    answers.ok_or_else(problem)
}

/// The answers of the imitation, which is asked each time.
async fn imitation(provider: Provider, probes: &Probes) -> Result<Answers, Box<dyn Error>> {
    let client = ["parity", "of-the-imitation", "http://localhost/callback"];
    let [id, secret, callback] = client;
    let registered = Client::new(id, secret, [callback])?;
    let mock = MockUpstream::start(Settings::new(registered.clone(), registered)).await?;
    let base = Url::parse(mock.provider(provider).url())?;
    record(probes, client, Some(base), None).await
}

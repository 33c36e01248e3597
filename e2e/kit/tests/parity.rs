//! `signin-kit parity` beside imitations that are altered in one thing each: that is found, nothing
//! else is, and no secret is written.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{EndsBy, Program};
use agent::secrets::LeakCheck;
use mock_upstream::{Client, Misbehaviour, MockUpstream, Next, Provider, Settings, Upstream};
use serde::Deserialize;
use serde_json::Value;
use tokio::task::JoinSet;

/// A row of `alterations.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Alteration {
    /// The beginning of the requests whose answers are altered; without one, of all.
    at: String,
    /// A text of the answer, and what is there instead.
    from: String,
    to: String,
    /// The user who signs in, or what goes wrong then.
    next: Option<String>,
    /// The rows of the table.
    differs: Vec<String>,
    /// The error in place of a table.
    fails: Option<String>,
}

const SECRET: &str = "S3cret-0f-9f8e7d6c5b4a";
const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn each_difference_is_found_and_nothing_else_and_no_secret_is_written() {
    let alterations = include_str!("parity/alterations.toml");
    let alterations: BTreeMap<String, Vec<Alteration>> = toml::from_str(alterations).unwrap();
    let mut checks = JoinSet::new();
    for (provider, alteration) in alterations
        .into_iter()
        .flat_map(|(name, all)| all.into_iter().map(move |it| (name.clone(), it)))
    {
        checks.spawn(check(provider.parse().unwrap(), alteration));
    }
    checks.join_all().await;
}

async fn check(provider: Provider, alteration: Alteration) {
    let shown = format!("{provider}: {alteration:?}");
    let port = stack::free_port(Ipv4Addr::LOCALHOST.into()).unwrap();
    let callback = format!("http://{}/callback", port.local_addr().unwrap());
    drop(port);
    let client = Client::new("app", SECRET, [&callback]).unwrap();
    let mock = MockUpstream::start(Settings::new(client.clone(), client)).await;
    let mock = mock.unwrap();
    let upstream = mock.provider(provider);
    for name in [&alteration.next; 5].into_iter().flatten() {
        upstream.queue(next(upstream, name)).unwrap();
    }
    let (fails, differs) = (alteration.fails.clone(), alteration.differs.clone());
    let base = format!("http://{}", altering_proxy(upstream.address(), alteration));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("secret"), SECRET).unwrap();
    let parity = |flags: String| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signin-kit"));
        let flags = format!("parity {} {flags}", provider.name());
        command.args(flags.split(' ')).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Program::start(command, EndsBy::Kill).unwrap()
    };
    let mut program = parity(format!(
        "--client-id app --secret-file secret --callback {callback} --base {base}"
    ));
    while let Some(line) = program.errors.next_line().await {
        if line.starts_with("http") {
            tokio::spawn(reqwest::get(line));
        }
    }
    let (table, errors) = (program.output.whole(LIMIT).unwrap(), program.errors.text());
    let code = program.ended().await.unwrap().code();
    let file = format!("parity-{}.json", provider.name());
    let recording = fs::read_to_string(folder.path().join(&file)).unwrap_or_default();
    let leaks = secrets(upstream).search(format!("{table}{errors}{recording}"));
    assert_eq!(leaks, [], "{shown}");
    let rows = table.lines().skip(4).filter(|row| !row.is_empty());
    let rows: Vec<_> = rows.map(|row| row.trim_matches(['|', ' '])).collect();
    assert_eq!(rows, differs, "{shown}\n{errors}");
    if let Some(error) = fails {
        assert_eq!(
            (code, errors.contains(&error)),
            (Some(2), true),
            "{shown}\n{errors}"
        );
    } else {
        assert_eq!(code, Some(i32::from(!rows.is_empty())), "{shown}");
        let again = parity(format!("--recording {file}"));
        assert_eq!(again.output.whole(LIMIT).unwrap(), table, "{shown}");
    }
}

fn next(upstream: &Upstream, name: &str) -> Next {
    match Misbehaviour::parse(upstream.provider(), name) {
        Ok(misbehaviour) => Next::Misbehave(misbehaviour),
        Err(_) => Next::User(upstream.known_user(name).unwrap()),
    }
}

/// The secrets that the program has sent and received, and the user's address.
fn secrets(upstream: &Upstream) -> LeakCheck {
    let mut secrets = vec![SECRET.to_owned(), "people.example".to_owned()];
    for call in upstream.backend_calls() {
        let answer = call.answer.clone().unwrap_or_default();
        let sent = ["code", "code_verifier"].map(|name| call.fields[name].clone());
        let got = ["access_token", "id_token"].map(|name| answer[name].clone());
        let all = sent.iter().chain(&got).filter_map(Value::as_str);
        secrets.extend(all.filter(|it| it.len() > 15).map(str::to_owned));
    }
    LeakCheck::over(secrets.into_iter().map(|it| ("secret", it)))
}

/// The address of a server that passes everything on, and alters the answers.
fn altering_proxy(upstream: SocketAddr, alteration: Alteration) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let _ = pass_on(client, upstream, &alteration);
        }
    });
    address
}

fn pass_on(mut client: TcpStream, upstream: SocketAddr, alteration: &Alteration) -> io::Result<()> {
    let (mut request, mut head) = (BufReader::new(client.try_clone()?), String::new());
    while !head.ends_with("\r\n\r\n") && request.read_line(&mut head)? > 0 {}
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    request.read_exact(&mut body)?;
    let mut server = TcpStream::connect(upstream)?;
    server.write_all(
        head.replacen("\r\n", "\r\nconnection: close\r\n", 1)
            .as_bytes(),
    )?;
    server.write_all(&body)?;
    let mut answer = String::new();
    server.read_to_string(&mut answer)?;
    if head.starts_with(&alteration.at) {
        answer = answer.replacen(&alteration.from, &alteration.to, 1);
    }
    // The length may be another now; the answer ends with the connection.
    client.write_all(
        answer
            .replacen("content-length", "x-request-id", 1)
            .as_bytes(),
    )
}

//! The servers that people take instead of the broker: each serves its own sign-in, to a
//! browser that fills in and sends every form it is shown, and to a client that then asks for
//! a token and the profile. They are described in `peers/peers.json`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use agent::browser::{Clickable, CookieJar, Visit};
use agent::random::{digest, secret};
use agent::url::{encode, parameter, path_and_query};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::BenchError;
use crate::load::connection::{Connection, expect, member};
use crate::load::login::{CALLBACK, CLIENT_ID, CLIENT_SECRET, Login};
use crate::load::{CPU, Load};
use crate::report::{Figure, MEGABYTES, MILLISECONDS, PER_SECOND, Results, Row, ms, us};
use crate::servers::broker::Store;
use crate::servers::{Start, free_address};
use crate::setup::{FLOOR, Setup, announce};

const CLIENTS: usize = 16;

const RATE: Figure = Figure("logins on one core", PER_SECOND);
const IDLE: Figure = Figure("memory, idle", MEGABYTES);
const AFTER: Figure = Figure("memory after all logins", MEGABYTES);
const ANSWER: Figure = Figure("start to first answer", MILLISECONDS);
const COLUMNS: [Figure; 5] = [CPU, RATE, IDLE, AFTER, ANSWER];

/// A server, as `peers/peers.json` describes it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Peer {
    name: String,
    /// The reason for which it is never measured.
    skipped: Option<String>,
    /// The package by which npm installs it.
    package: String,
    /// The arguments of node; `PORT` is replaced.
    command: Vec<String>,
    /// A path that it answers with 200 as soon as it serves.
    ready: String,
    /// The paths at which it authorizes, returns a token, and a profile.
    paths: [String; 3],
    leaves_out: String,
}

/// Writes a table of its own: floor-hops, the broker, and each peer.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let text = include_str!("../../peers/peers.json");
    let peers: Vec<Peer> = serde_json::from_str(text).expect("the committed file is valid");
    let names = COLUMNS.map(|it| format!(" {} |", it.0)).concat();
    let rule = "---|".repeat(COLUMNS.len() + 2);
    let mut table = format!("| server |{names} what it leaves out in a login |\n|{rule}\n");
    let sign_in = async |client: &mut Connection| Login::CleanGitHub.run(client).await;
    let leaves_out = "everything but the calls: it keeps nothing and checks nothing";
    table += &row(setup, FLOOR, setup.floor()?, sign_in, leaves_out).await?;
    for (store, leaves_out) in [
        (Store::Memory, "nothing is durable"),
        (Store::File, "nothing"),
    ] {
        let start = setup.configure(&store)?.start(&setup.broker);
        let name = format!("broker, {}", store.name());
        table += &row(setup, &name, start, sign_in, leaves_out).await?;
    }
    for peer in &peers {
        match peer.version(&setup.args.peers) {
            Err(reason) => {
                let cells = " |".repeat(COLUMNS.len());
                table += &format!("| {} |{cells} skipped: {reason} |\n", peer.name);
            }
            Ok(version) => {
                let name = format!("{} {version}", peer.name);
                let start = peer.start(&setup.args.peers)?;
                let sign_in = async |client: &mut Connection| peer.sign_in(client).await;
                table += &row(setup, &name, start, sign_in, &peer.leaves_out).await?;
            }
        }
    }
    write!(io::stdout(), "{table}")?;
    Ok(Vec::new())
}

/// Starts a server, which serves all logins, round by round.
async fn row(
    setup: &Setup,
    name: &str,
    start: Start,
    sign_in: impl AsyncFn(&mut Connection) -> Result<(), BenchError>,
    leaves_out: &str,
) -> Result<String, BenchError> {
    announce(name);
    let mut results = Results::default();
    let (server, took) = setup.start(start)?;
    results.add(name, ANSWER, ms(took));
    results.add(name, IDLE, server.megabytes()?);
    let mut load = Load::at(server.address, CLIENTS).await?;
    // An imitation of GitHub counts 5,000 calls, and then refuses more.
    let each = setup.size.logins / setup.size.rounds;
    for _ in 0..setup.size.rounds {
        let before = server.cpu()?;
        let times = load.run_each(each, &sign_in).await?;
        let cpu = us(server.cpu()?.saturating_sub(before));
        results.add(name, CPU, cpu / times.logins as f64);
        results.add(name, RATE, times.logins as f64 / times.whole.as_secs_f64());
    }
    results.add(name, AFTER, server.megabytes()?);
    let figures = COLUMNS.map(|figure| format!(" {} |", results.show(name, figure)));
    Ok(format!("| {name} |{} {leaves_out} |\n", figures.concat()))
}

impl Peer {
    /// Its version in the folder; a sentence, if it cannot be started.
    fn version(&self, folder: &Path) -> Result<String, String> {
        if let Some(reason) = self.skipped.clone() {
            return Err(reason);
        }
        let manifest = folder.join(format!("node_modules/{}/package.json", self.package));
        let text = fs::read_to_string(manifest);
        let text = text.map_err(|_| "it is not installed; `just bench peers` does that")?;
        let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
        let node = Command::new("node").arg("--version").output();
        node.map_err(|_| "there is no `node` on the PATH; `just bench peers` finds one")?;
        Ok(manifest["version"].as_str().unwrap_or_default().to_owned())
    }

    fn start(&self, folder: &Path) -> Result<Start, BenchError> {
        let address = free_address()?;
        let port = address.port().to_string();
        let mut command = Command::new("node");
        command.args(self.command.iter().map(|it| it.replace("PORT", &port)));
        command.current_dir(folder).stderr(Stdio::null());
        Ok((command, address, self.ready.clone()))
    }

    async fn sign_in(&self, client: &mut Connection) -> Result<(), BenchError> {
        let [authorize, token, profile] = &self.paths;
        let (verifier, nonce, state) = (secret(), secret(), secret());
        let query = encode(&[
            ("response_type", "code"),
            ("client_id", CLIENT_ID),
            ("redirect_uri", CALLBACK),
            ("scope", "openid"),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &digest(&verifier)),
            ("code_challenge_method", "S256"),
        ]);
        let back = browse(client, &format!("{authorize}?{query}")).await?;
        let form = encode(&[
            ("grant_type", "authorization_code"),
            (
                "code",
                &parameter(back.as_str(), "code").unwrap_or_default(),
            ),
            ("redirect_uri", CALLBACK),
            ("client_id", CLIENT_ID),
            ("client_secret", CLIENT_SECRET),
            ("code_verifier", &verifier),
        ]);
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
        ];
        let token = client.send(("POST", token), &headers, form).await?;
        expect(token.status == 200, &token, "a peer's token request")?;
        let bearer = format!("Bearer {}", member(&token, "access_token"));
        let headers = [("Authorization", bearer.as_str())];
        let get = ("GET", profile.as_str());
        let profile = client.send(get, &headers, String::new()).await?;
        expect(profile.status == 200, &profile, "a peer's profile")
    }
}

/// Opens a path, follows redirects, and fills in and sends each form, up to the address at
/// which the consumer is called back.
async fn browse(client: &mut Connection, path: &str) -> Result<Url, BenchError> {
    let failed = || BenchError::because("a peer does not lead back to its client");
    let mut visit = Visit::typed(&client.url.join(path)?);
    let mut jar = CookieJar::default();
    for _step in 0..20 {
        if visit.url.as_str().starts_with(CALLBACK) {
            return Ok(visit.url);
        }
        let (kind, body) = visit.body().unwrap_or_default();
        let mut headers = vec![("content-type", kind)];
        let sent = visit.headers(&jar);
        for (name, value) in &sent {
            headers.push((name.as_str(), value.to_str()?));
        }
        let request = (visit.method.as_str(), &*path_and_query(&visit.url));
        let page = client.send(request, &headers, body).await?;
        jar.receive(&page.headers, &page.url);
        if let Some(next) = visit.redirected(page.status, &page.headers) {
            visit = next;
            continue;
        }
        let mut form = page.forms().into_iter().next().ok_or_else(failed)?;
        for field in form.text_fields.clone() {
            form.fill(&field, "ada");
        }
        visit = Visit::press(&page, &Clickable::Button(Arc::new(form), 0));
    }
    Err(failed())
}

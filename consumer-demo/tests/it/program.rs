//! The program itself: what it refuses, the settings that the application refuses (C19), and
//! its addresses.

use std::fmt::Display;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agent::program::{EndsBy, Program, output_within};
use consumer_demo::{App, Clock, StartError};
use reqwest::header::HeaderMap;
use testkit::http::client;

use crate::test_consumer::config;

/// The time in which a program starts, or refuses to.
const LIMIT: Duration = Duration::from_secs(30);

/// Each would change or end a program that read it, as Rocket does unless its
/// configuration is complete.
const ROCKETS_VARIABLES: [(&str, &str); 9] = [
    ("ROCKET_PROFILE", "other"),
    ("ROCKET_ADDRESS", "192.0.2.1"),
    ("ROCKET_PORT", "1"),
    ("ROCKET_WORKERS", "0"),
    ("ROCKET_IDENT", "Rocket"),
    ("ROCKET_LIMITS", "{form=\"1 B\"}"),
    ("ROCKET_TLS", "{certs=\"none.pem\",key=\"none.pem\"}"),
    ("ROCKET_KEEP_ALIVE", "not a number"),
    ("ROCKET_LOG_LEVEL", "debug"),
];

const ROCKETS_FILE: &str = "[default]\naddress = \"192.0.2.1\"\nport = \"none\"\n[broken";

fn program(listen: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consumer-demo"));
    command
        .args(["--client-id", "demo", "--listen", listen])
        .env_clear()
        .env("SIGNIN_CLIENT_SECRET", "hunter2")
        .stderr(Stdio::piped());
    command
}

/// Starts a program that serves until it is dropped, and waits until it logs where it listens.
/// Returns the address, and the number of lines of its log before that one.
fn serve(command: Command) -> (Program, SocketAddr, usize) {
    let program = Program::start(command, EndsBy::Kill).unwrap();
    let found = program.errors.find(LIMIT, |log| {
        log.lines().enumerate().find_map(|(before, line)| {
            let (_, address) = line.split_once("listening address=")?;
            Some((before, address.trim().parse().unwrap()))
        })
    });
    let (lines_before, address) = found.expect("it listens");
    (program, address, lines_before)
}

/// The answer of the home page, without what differs every time.
async fn home(address: impl Display) -> (u16, HeaderMap) {
    let request = client().get(format!("http://{address}/"));
    let answer = request.send().await.unwrap();
    let mut headers = answer.headers().clone();
    headers.remove("date");
    (answer.status().as_u16(), headers)
}

// Threats: RAUTHY-008.
#[tokio::test]
async fn c20_no_setting_of_rockets_changes_the_address_or_the_answers() {
    let (_plain, plain_address, plain_lines) = serve(program("127.0.0.1:0"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rocket-settings");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("Rocket.toml"), ROCKETS_FILE).unwrap();
    let mut command = program("127.0.0.1:0");
    command.envs(ROCKETS_VARIABLES).current_dir(&folder);
    let (_with_settings, address, lines) = serve(command);
    assert!(address.ip().is_loopback());
    assert_eq!(home(address).await, home(plain_address).await);
    assert_eq!(lines, plain_lines);
}

#[tokio::test]
async fn a_server_whose_log_can_no_longer_be_written_serves() {
    let (log, stderr) = std::io::pipe().unwrap();
    let mut command = program("127.0.0.1:0");
    command.stderr(stderr);
    let _serving = Program::start(command, EndsBy::Kill).unwrap();
    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let listening = lines.find(|line| line.contains("listening address="));
    // Nothing reads the log from here on.
    drop(lines);
    let listening = listening.expect("it listens");
    let (_, address) = listening.split_once("listening address=").unwrap();
    for _ in 0..3 {
        assert_eq!(home(address.trim()).await.0, 200);
    }
}

#[test]
fn a_taken_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = output_within(program(&address), LIMIT).unwrap();
    let expected = format!("consumer-demo: {address} is taken");
    assert!(output.stderr.contains(&expected), "{}", output.stderr);
    assert_ne!(output.code, Some(0));
}

/// In `tests/command_line/`, beside the files of authorities.
#[test]
fn c19_an_unsafe_or_unusable_configuration_is_refused_in_one_line() {
    trycmd::TestCases::new()
        .register_bin(
            "consumer-demo",
            Path::new(env!("CARGO_BIN_EXE_consumer-demo")),
        )
        .case("tests/command_line/*.trycmd");
}

const REAL_SECRET: &str = "q3Zx9Lr2Vt7Wn4Kp8Ys1Bm6Jd5Hc0Fg";

// Threats: RAUTHY-009.
#[test]
fn c19_an_example_secret_is_for_this_machine_only() {
    const HERE: &str = "http://127.0.0.1:8000";
    const BROKER: &str = "https://signin.example";
    const APP: &str = "https://app.example";
    const BIND: &str = "[::1]:0";
    for (secret, broker, consumer, bind, is_accepted) in [
        ("dev", HERE, HERE, BIND, true),
        ("dev", HERE, HERE, "0.0.0.0:0", false),
        ("dev", HERE, APP, BIND, false),
        ("dev", BROKER, HERE, BIND, false),
        ("demo-client-secret-for-everyone", HERE, APP, BIND, false),
        ("CHANGEME-CHANGEME-CHANGEME", BROKER, HERE, BIND, false),
        (&REAL_SECRET[..21], HERE, APP, BIND, false),
        (&REAL_SECRET[..22], HERE, APP, BIND, true),
        (REAL_SECRET, BROKER, APP, "0.0.0.0:0", true),
    ] {
        let mut config = config(broker);
        config.client_secret = secret.parse().unwrap();
        config.consumer_base_url = consumer.parse().unwrap();
        let bind: SocketAddr = bind.parse().unwrap();
        let started = App::new(config, Clock::system()).and_then(|app| app.rocket(bind).map(drop));
        let seen = match started {
            Ok(()) => true,
            Err(StartError::ExampleSecret) => false,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(seen, is_accepted, "{secret} {broker} {consumer} {bind}");
    }
}

#[rocket::async_test]
async fn a_server_takes_its_address_from_its_caller_and_no_signals_or_headers() {
    let app = App::new(config("http://127.0.0.1:8000"), Clock::system()).unwrap();
    let bind: SocketAddr = "127.0.0.1:4321".parse().unwrap();
    let server = app.rocket(bind).unwrap().ignite().await.unwrap();
    assert_eq!(server.config().address, bind.ip());
    assert_eq!(server.config().port, bind.port());
    assert!(!server.config().shutdown.ctrlc);
    assert_eq!(server.config().ip_header, None);
}

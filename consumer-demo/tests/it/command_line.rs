//! The program itself: its error messages when it cannot start, and its addresses.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

const SECRET: &str = "hunter2";

/// Runs the program with nothing but these settings.
fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_consumer-demo"))
        .env_clear()
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

/// A program that serves, until this is dropped.
struct Serving {
    program: Child,
    /// `None` once its reader is closed.
    log: Option<BufReader<ChildStderr>>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

impl Serving {
    fn start(command: &mut Command) -> Self {
        let mut program = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(program.stderr.take().unwrap());
        Self {
            program,
            log: Some(log),
        }
    }

    /// The address that the program logs once it listens.
    fn address(&mut self) -> SocketAddr {
        let log = self.log.as_mut().expect("it is read");
        let mut lines = log.by_ref().lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("listening address=")?;
            address.trim().parse().ok()
        });
        address.expect("it listens")
    }
}

/// Rocket reads its own variables and its own file, unless its configuration is
/// complete.
// Threats: RAUTHY-008.
#[test]
fn c20_a_server_listens_at_its_flags_address_whatever_the_environment_says() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = free.local_addr().unwrap();
    drop(free);
    let port = elsewhere.port().to_string();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rocket-toml");
    std::fs::create_dir_all(&folder).unwrap();
    let file = format!("[default]\naddress = \"127.0.0.1\"\nport = {port}\n");
    std::fs::write(folder.join("Rocket.toml"), file).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_consumer-demo"));
    command
        .env_clear()
        .current_dir(folder)
        .args(["--client-id", "demo", "--listen", "127.0.0.1:0"])
        .env("SIGNIN_CLIENT_SECRET", SECRET)
        .env("ROCKET_ADDRESS", "127.0.0.1")
        .env("ROCKET_PORT", &port);
    let mut serving = Serving::start(&mut command);
    let address = serving.address();
    assert_ne!(address, elsewhere);
    assert!(TcpStream::connect(address).is_ok());
    assert!(TcpStream::connect(elsewhere).is_err());
}

#[track_caller]
fn check_fails(arguments: &[&str], environment: &[(&str, &str)], words: &str) {
    let output = run(arguments, environment);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(message.contains(words), "{message}");
    assert!(!message.contains(SECRET), "{message}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
}

#[test]
fn a_taken_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    check_fails(
        &["--client-id", "demo", "--listen", &address],
        &[("SIGNIN_CLIENT_SECRET", SECRET)],
        &format!("consumer-demo: {address} is taken"),
    );
}

#[test]
fn the_secret_comes_from_the_environment_alone() {
    check_fails(
        &["--client-id", "demo"],
        &[],
        "SIGNIN_CLIENT_SECRET is not set",
    );
    check_fails(
        &["--client-id", "demo"],
        &[("SIGNIN_CLIENT_SECRET", "")],
        "SIGNIN_CLIENT_SECRET must have 1 to 200 characters",
    );
    let help = String::from_utf8(run(&["--help"], &[]).stdout).unwrap();
    assert!(help.contains("SIGNIN_CLIENT_SECRET"));
    assert!(!help.contains("--client-secret"));
}

#[test]
fn c19_an_unsafe_configuration_is_refused() {
    let secret = ("SIGNIN_CLIENT_SECRET", SECRET);
    let id = ("SIGNIN_CLIENT_ID", "demo");
    check_fails(
        &[],
        &[secret, id, ("SIGNIN_BASE_URL", "http://signin.example")],
        "HTTP loopback",
    );
    check_fails(
        &[],
        &[secret, id, ("SIGNIN_BASE_URL", "https://signin.example")],
        "looks like an example",
    );
    check_fails(
        &["--listen", "0.0.0.0:0"],
        &[secret, id],
        "looks like an example",
    );
    check_fails(&[], &[secret], "--client-id");
}

#[test]
fn an_unusable_file_of_authorities_is_refused_in_one_line() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("authorities");
    std::fs::create_dir_all(&folder).unwrap();
    let check = |file: &str, message: &str| {
        let path = folder.join(file);
        check_fails(
            &["--client-id", "demo", "--broker-ca", path.to_str().unwrap()],
            &[("SIGNIN_CLIENT_SECRET", SECRET)],
            message,
        );
    };
    check("missing.pem", "missing.pem cannot be read: No such file");
    for (file, text) in [
        ("empty.pem", ""),
        ("cut.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n"),
        (
            "damaged.pem",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
        check(file, "the file of --broker-ca holds no certificates in PEM");
    }
}

/// The log's reader has closed its pipe.
#[tokio::test]
async fn a_server_whose_log_cannot_be_written_serves() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consumer-demo"));
    command
        .env_clear()
        .args(["--client-id", "demo", "--listen", "127.0.0.1:0"])
        .env("SIGNIN_CLIENT_SECRET", SECRET);
    let mut serving = Serving::start(&mut command);
    let address = serving.address();
    drop(serving.log.take());
    for _ in 0..3 {
        let answer = reqwest::get(format!("http://{address}/profile/x")).await;
        assert_eq!(answer.unwrap().status(), 404);
    }
}

//! The program and what it is started with: Rocket's settings, which do not configure it, the
//! limit on open files, which bounds its connections, and a log that cannot be written. And
//! `broker health`, which asks a running broker.

use std::fs::OpenOptions;

use agent::program::{EndsBy, Program};
use serde_json::json;
use testkit::http::client;
use testkit::server::free_port;

use crate::installation::{Installation, Scratch};
use crate::process::{BrokerCommand, BrokerProcess, CommandOutput, LIMIT};
use crate::test_broker::{result_body, token_body};

/// Each would change or end a program that used it.
const VARIABLES: [(&str, &str); 14] = [
    ("ROCKET_PROFILE", "other"),
    ("ROCKET_CONFIG", "Other.toml"),
    ("ROCKET_ADDRESS", "192.0.2.1"),
    ("ROCKET_PORT", "1"),
    ("ROCKET_WORKERS", "0"),
    ("ROCKET_MAX_BLOCKING", "0"),
    ("ROCKET_IDENT", "Rocket"),
    ("ROCKET_IP_HEADER", "X-Real-IP"),
    ("ROCKET_LIMITS", "{json=\"1 B\",\"data-form\"=\"1 B\"}"),
    ("ROCKET_TLS", "{certs=\"none.pem\",key=\"none.pem\"}"),
    ("ROCKET_KEEP_ALIVE", "not a number"),
    (
        "ROCKET_SHUTDOWN",
        "{ctrlc=true,signals=[\"usr1\"],grace=0,mercy=0}",
    ),
    ("ROCKET_LOG_LEVEL", "debug"),
    ("ROCKET_SECRET_KEY", "not a key"),
];

/// The responses of some requests without what differs every time, and the lines of the
/// log without time and address.
async fn behaviour(broker: BrokerProcess) -> (Vec<String>, Vec<String>) {
    let mut responses = [
        broker.session(1).await,
        broker.post("/v1/login/result", &result_body(1)).await,
        broker.post("/v1/token", &token_body("none")).await,
        broker
            .post("/v1/login/session", &json!({ "name": "x".repeat(5_000) }))
            .await,
        broker.get("/v1/profile").await,
        broker.get("/api/providers").await,
        broker.get("/nowhere").await,
    ];
    let shown = responses.iter_mut().map(|response| {
        for name in ["date", "x-request-id", "content-length"] {
            response.headers.remove(name);
        }
        let has_secret = response.text().contains("authorization_url");
        let body = if has_secret { "" } else { response.text() };
        format!("{} {:?} {body}", response.status, response.headers)
    });
    let shown = shown.collect();
    let address = broker.address.clone();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    broker.terminate();
    let log = broker.log_when_ended();
    let constant = |line: &str| {
        let (_, message) = line.split_once(' ').unwrap_or(("", line));
        let before_id = message.split_once("request=");
        let constant = before_id.map_or(message, |(constant, _)| constant);
        constant.replace(&address, "ADDRESS")
    };
    (shown, log.lines().map(constant).collect())
}

#[tokio::test]
async fn no_rocket_setting_changes_the_broker() {
    let (installation, other) = (Installation::new(), Installation::new());
    let plain = installation.serve();
    let folder = Scratch::new();
    for name in ["Rocket.toml", "Other.toml"] {
        folder.write(
            name,
            "[default]\naddress = \"192.0.2.1\"\nport = \"none\"\n[broken",
        );
    }
    let mut broker = BrokerCommand::with("serve", &other.config);
    broker.0.envs(VARIABLES).current_dir(folder.file("."));
    let configured = BrokerProcess::start(broker);
    assert_eq!(behaviour(configured).await, behaviour(plain).await);
}

/// The soft and the hard limit on open files of a process.
fn limits_of(process_id: u32) -> (u64, u64) {
    let limits = std::fs::read_to_string(format!("/proc/{process_id}/limits")).unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let mut words = line.unwrap().split_whitespace();
    let mut number = || words.next().unwrap().parse().unwrap();
    (number(), number())
}

#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux shows it")]
async fn a_broker_raises_its_limit_on_open_files_to_the_highest_allowed() {
    let installation = Installation::new();
    let broker = BrokerCommand::limited_to_descriptors(100, "serve", &installation.config);
    let broker = BrokerProcess::start(broker);
    let (own, highest) = limits_of(broker.process_id());
    assert!(highest > 100, "the hard limit is above the soft one");
    assert_eq!(own, highest);
}

#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux has /dev/full")]
async fn a_broker_whose_log_cannot_be_written_serves() {
    let installation = Installation::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    let mut broker =
        BrokerCommand::with("serve", &installation.config).env("BROKER_BIND", &address);
    broker.0.stderr(full);
    let mut served = Program::start(broker.0, EndsBy::Kill).unwrap();
    served.listens_at("127.0.0.1", port, LIMIT).await.unwrap();
    for _ in 0..3 {
        let request = client().get(format!("http://{address}/v1/nothing"));
        let answer = request.send().await;
        assert_eq!(answer.unwrap().status(), 404);
    }
}

/// The answer about the broker at `address` of an installation.
fn health_at(installation: &Installation, address: &str) -> CommandOutput {
    BrokerCommand::with("health", &installation.config)
        .env("BROKER_BIND", address)
        .output()
}

#[test]
fn a_broker_with_its_store_is_healthy_until_it_ends() {
    let installation = Installation::with_store("postgres://broker@127.0.0.1:1/broker");
    let broker = installation.serve();
    health_at(&installation, &broker.address).failed("/readyz answers 503");

    let installation = Installation::with_tables();
    let broker = installation.serve();
    let address = broker.address.clone();
    let output = health_at(&installation, &address);
    assert_eq!((output.code, output.out.as_str()), (Some(0), "ready\n"));
    broker.terminate();
    assert_eq!(broker.ended(), Some(0));
    health_at(&installation, &address).failed("no server answers at");
}

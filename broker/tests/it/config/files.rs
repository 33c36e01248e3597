//! The files that a broker reads and creates, and its messages about unusable ones.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use broker::config::Config;

use super::{COOKIE_KEY, LOCAL, google};
use crate::command::BrokerCommand;
use crate::scratch::Scratch;

#[test]
fn a_relative_database_path_starts_at_the_configuration() {
    let scratch = Scratch::new();
    let path = scratch.write(
        "broker.toml",
        &format!("{LOCAL}[store]\nurl = \"sqlite:a.db\"\n"),
    );
    let config = Config::load(&path).unwrap();
    assert_eq!(
        config.store.url.to_string(),
        format!("sqlite:{}", scratch.file("a.db").display())
    );
}

#[test]
fn files_and_addresses_that_cannot_be_used_are_one_line() {
    let scratch = Scratch::new();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    scratch.write("text.db", &"no database\n".repeat(100));
    scratch.write("short.db.cookie-key", "GOCSPX");
    let listening = format!("bind = \"{address}\"\nstore.url = \"sqlite::memory:\"");
    for (line, message) in [
        ("= 1", "line 2"),
        ("bose_url = 1", "bose_url"),
        ("bind = \"0.0.0.0:8000\"", "cookie_keys"),
        ("store.url = \"sqlite:no/such/a.db\"", "no/such/a.db"),
        ("store.url = \"sqlite:text.db\"", "text.db"),
        ("store.url = \"sqlite:short.db\"", "short.db.cookie-key"),
        (&listening, &*address),
    ] {
        let path = scratch.write("broker.toml", &format!("{LOCAL}{line}\n{}", google("")));
        for command in ["check", "serve"] {
            // Only `serve` listens.
            if (line, command) != (&listening, "check") {
                BrokerCommand::with(command, &path).output().failed(message);
            }
        }
    }
    let missing = scratch.file("missing.toml");
    BrokerCommand::with("serve", &missing)
        .output()
        .failed("missing.toml");
}

#[test]
fn a_database_and_a_cookie_key_beside_it_are_for_their_owner_alone() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", LOCAL);
    let key_file = scratch.file("broker.db.cookie-key");
    assert_eq!(BrokerCommand::with("check", &path).output().code, Some(0));
    let key = std::fs::read_to_string(&key_file).unwrap();
    assert_eq!(key.len(), 43);
    assert_eq!(mode(&key_file), 0o600);
    assert_eq!(mode(&scratch.file("broker.db")), 0o600);
    assert_eq!(BrokerCommand::with("check", &path).output().code, Some(0));
    assert_eq!(std::fs::read_to_string(&key_file).unwrap(), key, "reused");
}

fn mode(path: &PathBuf) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_broker_with_cookie_keys_or_in_memory_creates_no_key_file() {
    let scratch = Scratch::new();
    let keyed = scratch.write("keyed.toml", &format!("{LOCAL}{COOKIE_KEY}"));
    assert_eq!(BrokerCommand::with("check", &keyed).output().code, Some(0));
    let text = format!("{LOCAL}[store]\nurl = \"sqlite::memory:\"\n");
    let memory = scratch.write("memory.toml", &text);
    assert_eq!(BrokerCommand::with("check", &memory).output().code, Some(0));
    assert!(!scratch.file("broker.db.cookie-key").exists());
}

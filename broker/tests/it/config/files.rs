//! The files that a broker reads and creates, and its messages about unusable ones.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use broker::config::Config;

use super::{COOKIE_KEY, LOCAL, PUBLIC, UPSTREAM_SECRET, google, refused};
use crate::command::BrokerCommand;
use crate::scratch::Scratch;

#[test]
fn a_file_that_is_not_toml_is_refused_without_being_quoted() {
    refused("= 1\n", "line 1");
    refused(
        &format!("{LOCAL}[upstream.google]\nclient_secret = \"{UPSTREAM_SECRET}\n"),
        "line 3",
    );
    refused(
        &format!("{LOCAL}[upstream.google]\nclient_secret = {UPSTREAM_SECRET}\n"),
        "line 3",
    );
    refused(&format!("{LOCAL}{LOCAL}"), "base_url");
}

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
fn a_configuration_that_cannot_be_read_is_one_line() {
    let scratch = Scratch::new();
    for command in ["check", "serve"] {
        let missing = scratch.file("missing.toml");
        BrokerCommand::with(command, &missing)
            .output()
            .failed("missing.toml");
        let path = scratch.write("broken.toml", "= 1\n");
        BrokerCommand::with(command, &path)
            .output()
            .failed("line 1");
        let path = scratch.write("unknown.toml", &format!("{LOCAL}bose_url = 1\n"));
        BrokerCommand::with(command, &path)
            .output()
            .failed("bose_url");
        let path = scratch.write("public.toml", &format!("{PUBLIC}{}", google("")));
        BrokerCommand::with(command, &path)
            .output()
            .failed("cookie_keys");
    }
}

#[test]
fn a_database_that_cannot_be_opened_is_one_line() {
    let scratch = Scratch::new();
    let config = |url: &str| {
        let text = format!("{LOCAL}[store]\nurl = \"sqlite:{url}\"\n{}", google(""));
        scratch.write("broker.toml", &text)
    };
    for command in ["check", "serve"] {
        let output = BrokerCommand::with(command, &config("no/such/folder/a.db")).output();
        output.failed("no/such/folder/a.db");
        scratch.write("text.db", &"no database\n".repeat(100));
        BrokerCommand::with(command, &config("text.db"))
            .output()
            .failed("text.db");
    }
}

#[test]
fn a_cookie_key_file_without_a_key_is_one_line() {
    let scratch = Scratch::new();
    scratch.write("broker.db.cookie-key", "GOCSPX");
    let path = scratch.write("broker.toml", LOCAL);
    BrokerCommand::with("check", &path)
        .output()
        .failed("broker.db.cookie-key");
}

#[test]
fn a_port_in_use_is_one_line() {
    let scratch = Scratch::new();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let text = format!(
        "{LOCAL}bind = \"{address}\"\n[store]\nurl = \"sqlite::memory:\"\n{}",
        google("")
    );
    let path = scratch.write("broker.toml", &text);
    BrokerCommand::with("serve", &path)
        .output()
        .failed(&address.to_string());
}

#[test]
fn a_cookie_key_is_stored_beside_the_database_for_its_owner_alone() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", LOCAL);
    let key_file = scratch.file("broker.db.cookie-key");
    assert_eq!(BrokerCommand::with("check", &path).output().code, Some(0));
    let key = std::fs::read_to_string(&key_file).unwrap();
    assert_eq!(key.len(), 43);
    assert_eq!(mode(&key_file), 0o600);
    assert_eq!(BrokerCommand::with("check", &path).output().code, Some(0));
    assert_eq!(std::fs::read_to_string(&key_file).unwrap(), key, "reused");
}

#[test]
fn a_database_is_created_for_its_owner_alone() {
    let scratch = Scratch::new();
    let path = scratch.write("broker.toml", LOCAL);
    assert_eq!(BrokerCommand::with("check", &path).output().code, Some(0));
    assert_eq!(mode(&scratch.file("broker.db")), 0o600);
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

//! A broker that encrypts by itself.

use std::path::PathBuf;

use reqwest::Certificate;

use crate::command::Broker;
use crate::http::world::Answer;
use crate::scratch::Scratch;
use crate::served::Served;

/// Of `localhost` and 127.0.0.1, signed by itself, and no authority.
const CERTIFICATE: &str = include_str!("tls/certificate.pem");
const KEY: &str = include_str!("tls/key.pem");
const ANOTHERS_KEY: &str = include_str!("upstream/keys/one.pem");

/// A configuration with these files beside it.
fn place(certificates: &str, key: &str) -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    scratch.write("chain.pem", certificates);
    scratch.write("key.pem", key);
    let config = scratch.write(
        "broker.toml",
        "base_url = \"https://localhost:8443\"\n\
         bind = \"127.0.0.1:0\"\n\
         store.url = \"sqlite::memory:\"\n\
         tls.certificates = \"chain.pem\"\n\
         tls.key = \"key.pem\"\n",
    );
    (scratch, config)
}

#[tokio::test]
async fn a_broker_with_a_certificate_encrypts_and_insists_on_it() {
    let (_scratch, config) = place(CERTIFICATE, KEY);
    let served = Served::start(Broker::with("serve", &config));
    let root = Certificate::from_pem(CERTIFICATE.as_bytes()).unwrap();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([root])
        .build()
        .unwrap();
    let url = format!("https://{}/api/providers", served.address());
    let answer = Answer::to(client.get(url)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.header("strict-transport-security"),
        Some("max-age=31536000")
    );
    let stranger = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("https://{}/livez", served.address());
    assert!(stranger.get(url).send().await.is_err(), "nobody signed it");
    let url = format!("http://{}/livez", served.address());
    assert!(stranger.get(url).send().await.is_err(), "nothing in clear");
}

#[test]
fn checking_says_that_it_encrypts() {
    let (_scratch, config) = place(CERTIFICATE, KEY);
    let said = Broker::with("check", &config).output();
    assert_eq!(said.code, Some(0), "{}", said.err);
    let told = said
        .out
        .lines()
        .any(|line| line.starts_with("encrypts ") && line.ends_with("/chain.pem"));
    assert!(told, "{}", said.out);
}

/// Checks that neither command starts with such files.
#[track_caller]
fn refused(certificates: &str, key: &str, says: &str) {
    let (_scratch, config) = place(certificates, key);
    for command in ["check", "serve"] {
        let said = Broker::with(command, &config).output();
        said.failed(says);
        let line = KEY.lines().nth(1).unwrap();
        assert!(!said.err.contains(line), "{}", said.err);
    }
}

#[test]
fn files_that_cannot_be_used_are_one_line() {
    refused("", KEY, "chain.pem: holds no certificate");
    refused(KEY, KEY, "chain.pem: holds no certificate");
    refused(CERTIFICATE, "", "key.pem: holds no private key");
    refused(CERTIFICATE, CERTIFICATE, "key.pem: holds no private key");
    refused(CERTIFICATE, ANOTHERS_KEY, "key.pem: tls.key is not that of");
    let cut = &KEY[..KEY.len() / 2];
    refused(CERTIFICATE, cut, "key.pem: holds");
    let smudged = KEY.replace("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY");
    refused(CERTIFICATE, &smudged, "key.pem: holds");
}

#[test]
fn a_file_that_is_not_there_is_one_line() {
    let (scratch, config) = place(CERTIFICATE, KEY);
    scratch.remove_all("chain.pem");
    let said = Broker::with("check", &config).output();
    said.failed("chain.pem: cannot be read: No such file");
}

#[test]
fn a_key_that_others_may_read_or_an_http_address_is_refused() {
    let (scratch, config) = place(CERTIFICATE, KEY);
    let said = Broker::with("check", &config)
        .env("BROKER_BASE_URL", "http://localhost:8443")
        .output();
    said.failed("base_url is http");
    scratch.set_mode("key.pem", 0o644);
    let keys = "[\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\"]";
    let public = || {
        Broker::with("check", &config)
            .env("BROKER_BASE_URL", "https://broker.example")
            .env("BROKER_COOKIE_KEYS", keys)
    };
    public().output().failed("the private key");
    scratch.set_mode("key.pem", 0o600);
    assert_eq!(public().output().code, Some(0));
}

//! A broker that terminates TLS itself.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Certificate;
use testkit::http::{Http, client_builder};

use crate::broker_process::BrokerProcess;
use crate::command::{BrokerCommand, CommandOutput};
use crate::scratch::Scratch;

/// A self-signed certificate for `localhost` and 127.0.0.1, which is no authority.
const CERTIFICATE: &str = include_str!("tls/certificate.pem");
const KEY: &str = include_str!("tls/key.pem");
const COOKIE_KEYS: &str = "[\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\"]";
const ANOTHERS_KEY: &str = include_str!("upstream/keys/one.pem");

/// A folder with a configuration that has a certificate, and its path.
pub(crate) fn config() -> (Scratch, PathBuf) {
    config_with(CERTIFICATE, KEY)
}

/// A folder with a configuration and these two files, and the configuration's path.
fn config_with(certificates: &str, key: &str) -> (Scratch, PathBuf) {
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

// Threats: CVE-2024-23656.
#[tokio::test]
async fn a_broker_with_a_certificate_serves_https_and_no_http() {
    let (_scratch, config) = config();
    let broker = BrokerProcess::start(BrokerCommand::with("serve", &config));
    let root = Certificate::from_pem(CERTIFICATE.as_bytes()).unwrap();
    let client = client_builder().tls_certs_only([root]).build().unwrap();
    let url = format!("https://{}/api/providers", broker.address());
    let http = Http::new().with_client(client);
    let response = http.get(url).send().await;
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(
        response.header("strict-transport-security"),
        Some("max-age=31536000")
    );
    let untrusting = Http::new().with_client(client_builder().build().unwrap());
    for (scheme, why) in [("https", "it is not trusted"), ("http", "no plain HTTP")] {
        let url = format!("{scheme}://{}/livez", broker.address());
        assert!(untrusting.get(url).try_send().await.is_err(), "{why}");
    }
}

#[test]
fn check_reports_that_the_broker_terminates_tls_and_notes_an_ip_header_without_a_proxy() {
    let (scratch, config) = config();
    scratch.set_mode("key.pem", 0o600);
    let check = || {
        BrokerCommand::with("check", &config)
            .env("BROKER_BASE_URL", "https://broker.example")
            .env("BROKER_COOKIE_KEYS", COOKIE_KEYS)
    };
    let CommandOutput { code, out, err } = check().output();
    assert_eq!(code, Some(0), "{err}");
    let encrypts = |line: &str| line.starts_with("encrypts ") && line.ends_with("/chain.pem");
    assert!(out.lines().any(encrypts), "{out}");
    assert!(!out.contains("ip_header"), "{out}");
    let out = check().env("BROKER_IP_HEADER", "X-Real-IP").output().out;
    let note = "note       ip_header is X-Real-IP, but the broker terminates TLS itself";
    assert!(out.contains(note), "{out}");
}

/// Asserts that neither command starts with such files.
#[track_caller]
fn refused(certificates: &str, key: &str, message: &str) {
    let (_scratch, config) = config_with(certificates, key);
    for command in ["check", "serve"] {
        let output = BrokerCommand::with(command, &config).output();
        output.failed(message);
        let line = KEY.lines().nth(1).unwrap();
        assert!(!output.err.contains(line), "{}", output.err);
    }
}

#[test]
fn an_unusable_certificate_or_key_fails_with_one_line() {
    let cut = &KEY[..KEY.len() / 2];
    let smudged = KEY.replace("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY");
    for (certificates, key, message) in [
        ("", KEY, "chain.pem: holds no certificate"),
        (KEY, KEY, "chain.pem: holds no certificate"),
        (CERTIFICATE, "", "key.pem: holds no private key"),
        (CERTIFICATE, CERTIFICATE, "key.pem: holds no private key"),
        (
            CERTIFICATE,
            ANOTHERS_KEY,
            "key.pem: tls.key is not the key of",
        ),
        (CERTIFICATE, cut, "key.pem: holds"),
        (CERTIFICATE, &smudged, "key.pem: holds"),
    ] {
        refused(certificates, key, message);
    }
    let (scratch, config) = config();
    scratch.remove_all("chain.pem");
    let output = BrokerCommand::with("check", &config).output();
    output.failed("chain.pem: cannot be read: No such file");
}

#[test]
fn a_key_readable_by_others_or_an_http_base_url_is_refused() {
    let (scratch, config) = config();
    let output = BrokerCommand::with("check", &config)
        .env("BROKER_BASE_URL", "http://localhost:8443")
        .output();
    output.failed("base_url is http");
    scratch.set_mode("key.pem", 0o644);
    let public = || {
        BrokerCommand::with("check", &config)
            .env("BROKER_BASE_URL", "https://broker.example")
            .env("BROKER_COOKIE_KEYS", COOKIE_KEYS)
    };
    public().output().failed("the private key");
    scratch.set_mode("key.pem", 0o600);
    assert_eq!(public().output().code, Some(0));
}

/// The first message of a client whose newest version is 3.`minor`: 1 for TLS 1.0 and so on.
/// (RFC 5246, section 7.4.1.2, and RFC 8422 for the curves.)
fn client_hello(minor: u8) -> Vec<u8> {
    [
        // Handshake, 85 bytes: ClientHello, 81 bytes.
        &[22, 3, 1, 0, 85, 1, 0, 0, 81, 3, minor][..],
        &[7; 32],
        // No session. For 1.2: ECDHE with AES-128-GCM. For 1.1 and before: ECDHE and RSA with
        // AES-128-CBC. No compression.
        &[
            0, 0, 10, 0xC0, 0x2B, 0xC0, 0x2F, 0xC0, 0x09, 0xC0, 0x13, 0x00, 0x2F, 1, 0,
        ],
        // Extensions, 30 bytes. supported_groups: secp256r1. ec_point_formats: uncompressed.
        &[0, 30, 0, 10, 0, 4, 0, 2, 0, 23, 0, 11, 0, 2, 1, 0],
        // signature_algorithms: ecdsa, rsa_pss and rsa_pkcs1 with SHA-256.
        // extended_master_secret.
        &[0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 4, 1, 0, 23, 0, 0],
    ]
    .concat()
}

/// The first bytes of the response of the broker at `address`.
fn answer_to(address: &str, message: &[u8]) -> Vec<u8> {
    let mut connection = TcpStream::connect(address).unwrap();
    let patience = Duration::from_secs(20);
    connection.set_read_timeout(Some(patience)).unwrap();
    connection.write_all(message).unwrap();
    let mut response = [0; 7];
    connection.read_exact(&mut response).unwrap();
    response.to_vec()
}

// Threats: CVE-2024-23656.
#[test]
fn versions_of_tls_before_1_2_are_refused_by_their_number() {
    const HANDSHAKE: u8 = 22;
    const ALERT: u8 = 21;
    const FATAL_PROTOCOL_VERSION: [u8; 2] = [2, 70];
    let (_scratch, config) = config();
    let broker = BrokerProcess::start(BrokerCommand::with("serve", &config));
    let response = answer_to(broker.address(), &client_hello(3));
    assert_eq!(response[0], HANDSHAKE, "1.2 is accepted: {response:?}");
    for (minor, name) in [(0, "SSL 3.0"), (1, "TLS 1.0"), (2, "TLS 1.1")] {
        let response = answer_to(broker.address(), &client_hello(minor));
        assert_eq!(response[0], ALERT, "{name}: {response:?}");
        assert_eq!(response[5..], FATAL_PROTOCOL_VERSION, "{name}");
    }
}

//! TLS: a broker that terminates it itself; and the authorities that are trusted for a
//! provider's certificate, and certificates that were signed by one of them and are invalid
//! all the same.

use std::path::PathBuf;

use broker::upstream::Failure;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use reqwest::Certificate;
use testkit::http::{Http, client_builder};

use crate::fake_provider::{CERTIFICATE, CERTIFICATE_KEY, FakeProvider};
use crate::installation::{Installation, Scratch};
use crate::process::{BrokerCommand, BrokerProcess};
use crate::test_broker::{authorize_with, parameter, query_with};

const COOKIE_KEYS: &str = "[\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\"]";

/// A folder with a configuration that has a certificate, and the configuration's path.
fn config() -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    scratch.write("chain.pem", CERTIFICATE);
    scratch.write("key.pem", CERTIFICATE_KEY);
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
    let url = format!("https://{}/api/providers", broker.address);
    let http = Http::new().with_client(client);
    let response = http.get(url).send().await;
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(
        response.header("strict-transport-security"),
        Some("max-age=31536000")
    );
    let untrusting = Http::new().with_client(client_builder().build().unwrap());
    for (scheme, why) in [("https", "it is not trusted"), ("http", "no plain HTTP")] {
        let url = format!("{scheme}://{}/livez", broker.address);
        assert!(untrusting.get(url).try_send().await.is_err(), "{why}");
    }
    let health = BrokerCommand::with("health", &config).env("BROKER_BIND", &broker.address);
    assert_eq!(health.output().code, Some(0), "it is asked over TLS");
}

#[test]
fn the_key_of_a_public_broker_is_for_its_owner_alone_and_an_ip_header_without_a_proxy_is_noted() {
    let (scratch, config) = config();
    let check = || {
        BrokerCommand::with("check", &config)
            .env("BROKER_BASE_URL", "https://broker.example")
            .env("BROKER_COOKIE_KEYS", COOKIE_KEYS)
            .env("BROKER_IP_HEADER", "X-Real-IP")
            .output()
    };
    scratch.set_mode("key.pem", 0o644);
    check().failed("the private key");
    scratch.set_mode("key.pem", 0o600);
    let out = check().succeeded().out;
    let note = "note       ip_header is X-Real-IP, but the broker terminates TLS itself";
    assert!(out.contains(note), "{out}");
}

const HERE: &str = "127.0.0.1";

/// A certificate authority of the test.
pub(crate) fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate for `name`, changed by `change`, that `authority` signed, and its key, in PEM.
pub(crate) fn certificate(
    authority: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.signed_by(&key, authority).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// The place in which the broker finds the authority of the provider; another authority
/// is in the other one.
#[derive(Clone, Copy)]
enum Trusted {
    BySystem,
    ByCaFile,
}

/// Whether a broker trusts a server in the place of both providers, whose certificate is for
/// `name` and changed by `change`. If not, neither login reaches it, and the log has the cause.
async fn is_trusted(
    trusted: Trusted,
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> bool {
    let [authority, another] = [(); 2].map(|()| authority());
    let (certificate, key) = certificate(&authority, name, change);
    let github = FakeProvider::start_with_tls(&certificate, &key).await;
    github.imitate_github();

    let (installation, scratch) = (Installation::new(), Scratch::new());
    let (system, own) = match trusted {
        Trusted::BySystem => (&authority, &another),
        Trusted::ByCaFile => (&another, &authority),
    };
    let system = scratch.write("system.pem", &system.pem());
    let own = scratch.write("own.pem", &own.pem());
    let broker = BrokerProcess::start(
        installation
            .serve_at(&github)
            .env("SSL_CERT_FILE", system.to_str().unwrap())
            .env("BROKER_UPSTREAM__CA_FILE", own.to_str().unwrap())
            .env("BROKER_UPSTREAM__GOOGLE__CLIENT_ID", "google")
            .env("BROKER_UPSTREAM__GOOGLE__CLIENT_SECRET", "GOCSPX")
            .env("BROKER_UPSTREAM__GOOGLE__ISSUER", &github.url()),
    );
    let returned = broker.coming_back("code=upstream-code").await.send().await;
    let query = query_with("provider", Some("google"));
    let redirect = broker.get(&authorize_with(&query)).await;
    let (log, why) = (broker.kill(), Failure::Untrusted.why());
    if parameter(returned.location().unwrap(), "code").is_some() {
        assert!(!log.contains(why), "{log}");
        return true;
    }
    for (provider, response) in [("github", returned), ("google", redirect)] {
        let error = parameter(response.location().unwrap(), "error");
        assert_eq!(error.as_deref(), Some("provider_unavailable"), "{provider}");
        let call = format!("→ {provider} ");
        let mut calls = log.lines().filter(|line| line.contains(&call));
        assert!(calls.any(|line| line.contains(why)), "{log}");
    }
    false
}

/// One in the `ca_file`, and one of the system also when a `ca_file` is set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_of_the_system_or_in_the_ca_file_is_trusted() {
    for trusted in [Trusted::BySystem, Trusted::ByCaFile] {
        assert!(is_trusted(trusted, HERE, |_| ()).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_for_another_name_or_another_time_is_not_trusted() {
    assert!(!is_trusted(Trusted::BySystem, "localhost", |_| ()).await);
    for year in [2019, 4000] {
        let of_year = |params: &mut CertificateParams| {
            params.not_before = date_time_ymd(year, 1, 1);
            params.not_after = date_time_ymd(year + 1, 1, 1);
        };
        assert!(!is_trusted(Trusted::BySystem, HERE, of_year).await);
    }
}

//! The providers and the proxy in front of them.

use broker::config::{Config, ConfigError, ProxyConfig};

use super::{GITHUB, LOCAL, UPSTREAM_SECRET, accepted, google};
use crate::scratch::Scratch;

#[test]
fn the_real_providers_are_the_default() {
    let upstream = accepted(&format!("{LOCAL}{}{GITHUB}", google(""))).upstream;
    let (google, github) = (upstream.google.unwrap(), upstream.github.unwrap());
    assert_eq!(google.issuer.as_str(), "https://accounts.google.com");
    assert_eq!(github.web_url.as_str(), "https://github.com");
    assert_eq!(github.api_url.as_str(), "https://api.github.com");
    assert!(google.enabled && github.enabled);
    assert_eq!(google.client_secret.expose(), UPSTREAM_SECRET);
}

#[test]
fn an_imitation_may_be_anywhere_on_this_machine() {
    for url in [
        "http://127.0.0.1:8030",
        "http://localhost:1",
        "https://[::1]:1",
    ] {
        for key in ["web_url", "api_url"] {
            accepted(&format!("{LOCAL}{GITHUB}{key} = \"{url}\"\n"));
        }
        accepted(&format!(
            "{LOCAL}{}",
            google(&format!("issuer = \"{url}\"\n"))
        ));
    }
}

#[test]
fn a_proxy_is_none_the_environments_or_an_address_that_is_never_shown() {
    let with = |proxy: &str| format!("{LOCAL}[upstream]\nproxy = \"{proxy}\"\n");
    assert!(matches!(accepted(LOCAL).upstream.proxy, ProxyConfig::None));
    assert!(matches!(
        accepted(&with("none")).upstream.proxy,
        ProxyConfig::None
    ));
    let environment = accepted(&with("environment"));
    assert!(matches!(
        environment.upstream.proxy,
        ProxyConfig::Environment
    ));
    let address = accepted(&with("http://ada:GOCSPX@proxy.example:3128"));
    assert!(matches!(address.upstream.proxy, ProxyConfig::At(_)));
    assert!(!format!("{address:?}").contains("GOCSPX"));
}

/// Loads a configuration whose `ca_file` contains `pem`, or is missing.
fn load_with_ca_file(pem: Option<&str>) -> Result<Config, ConfigError> {
    let scratch = Scratch::new();
    if let Some(pem) = pem {
        scratch.write("ca.pem", pem);
    }
    let text = format!("{LOCAL}[upstream]\nca_file = \"ca.pem\"\n");
    Config::load(&scratch.write("broker.toml", &text))
}

#[test]
fn a_ca_file_holds_certificates_and_is_beside_the_configuration() {
    let certificate = include_str!("../tls/certificate.pem");
    let two = certificate.repeat(2);
    load_with_ca_file(Some(&two)).unwrap();

    let refused = |pem, message: &str| {
        let error = load_with_ca_file(pem).unwrap_err().to_string();
        assert!(error.starts_with("upstream.ca_file /"), "{error}");
        assert!(error.ends_with(message), "{error}");
    };
    refused(
        None,
        "ca.pem: cannot be read: No such file or directory (os error 2)",
    );
    refused(Some(""), "ca.pem: holds no certificate in PEM");
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    refused(Some(no_certificate), "ca.pem: holds a damaged certificate");
    let cut = &certificate[..certificate.len() / 2];
    refused(
        Some(cut),
        "ca.pem: holds a damaged certificate, or none that is PEM",
    );
    // One that was cut off after its first certificate.
    assert!(load_with_ca_file(Some(&format!("{certificate}{cut}"))).is_err());
}

#[test]
fn only_a_broker_in_code_can_have_imitations_at_a_name_that_is_not_loopback() {
    let with_issuer = |issuer: &str| {
        let text = format!("{LOCAL}{}", google("issuer = \"http://127.0.0.1:1\"\n"));
        let mut config = accepted(&text);
        config.upstream.imitations_at = Some("stack.test".to_owned());
        config.upstream.google.as_mut().unwrap().issuer = issuer.parse().unwrap();
        config.check()
    };
    with_issuer("https://stack.test:8020").unwrap();
    for foreign in ["https://stack.test.example", "https://idp.example"] {
        let refused = with_issuer(foreign).unwrap_err();
        assert!(matches!(refused, ConfigError::Foreign(_)), "{foreign}");
    }
}

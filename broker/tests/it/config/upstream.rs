//! The providers and the proxy in front of them.

use broker::config::ProxyConfig;

use super::{LOCAL, UPSTREAM_SECRET, accepted, google, refused};

#[test]
fn the_real_providers_are_the_default() {
    let github = "[upstream.github]\nclient_id = \"a\"\nclient_secret = \"b\"\n";
    let upstream = accepted(&format!("{LOCAL}{}{github}", google(""))).upstream;
    let (google, github) = (upstream.google.unwrap(), upstream.github.unwrap());
    assert_eq!(google.issuer.as_str(), "https://accounts.google.com");
    assert_eq!(github.web_url.as_str(), "https://github.com");
    assert_eq!(github.api_url.as_str(), "https://api.github.com");
    assert!(google.enabled && github.enabled);
    assert_eq!(google.client_secret.expose(), UPSTREAM_SECRET);
}

#[test]
fn a_provider_is_the_real_one_or_an_imitation_on_this_machine() {
    let github = |rest: &str| {
        format!("{LOCAL}[upstream.github]\nclient_id = \"a\"\nclient_secret = \"b\"\n{rest}")
    };
    for key in ["web_url", "api_url"] {
        for host in [
            "https://github.example",
            "https://api.github.com.evil.test",
            "https://github.com:8443",
        ] {
            refused(
                &github(&format!("{key} = \"{host}\"\n")),
                "Enterprise Server",
            );
        }
        for host in [
            "http://127.0.0.1:8030",
            "http://localhost:1",
            "https://[::1]:1",
        ] {
            accepted(&github(&format!("{key} = \"{host}\"\n")));
        }
    }
    let swapped = "web_url = \"https://api.github.com\"\napi_url = \"https://github.com\"\n";
    refused(&github(swapped), "upstream.github");
    let google = |issuer: &str| format!("{LOCAL}{}", google(&format!("issuer = \"{issuer}\"\n")));
    refused(&google("https://idp.example"), "upstream.google.issuer");
    accepted(&google("http://127.0.0.1:8020"));
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
    for odd in [
        "",
        "GOCSPX",
        "socks5://GOCSPX:1",
        "proxy.example:3128",
        "file:///GOCSPX",
    ] {
        refused(&with(odd), "upstream.proxy");
    }
}

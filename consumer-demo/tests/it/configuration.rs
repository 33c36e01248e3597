//! The settings that the application refuses (C19), and those of its server.

use std::net::SocketAddr;

use consumer_demo::{App, Clock, Config, StartError};
use contract::Origin;

use crate::test_consumer::config;

const REAL_SECRET: &str = "q3Zx9Lr2Vt7Wn4Kp8Ys1Bm6Jd5Hc0Fg";

fn is_accepted(config: Config) -> bool {
    match App::new(config, Clock::system()) {
        Ok(_) => true,
        Err(StartError::ExampleSecret) => false,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn c19_plain_http_leads_to_this_machine_only() {
    for address in [
        "http://signin.example",
        "http://10.0.0.1:8000",
        "ftp://localhost",
    ] {
        assert!(address.parse::<Origin>().is_err(), "{address}");
    }
    assert!("https://signin.example".parse::<Origin>().is_ok());
    assert!("http://[::1]:8000".parse::<Origin>().is_ok());
}

// Threats: RAUTHY-009.
#[test]
fn c19_an_example_secret_is_for_this_machine_only() {
    let local = config("http://127.0.0.1:8000");
    assert!(is_accepted(local.clone()));

    for secret in [
        "dev",
        "demo-client-secret-for-everyone",
        "CHANGEME-CHANGEME-CHANGEME",
    ] {
        let mut public = local.clone();
        public.client_secret = secret.parse().unwrap();
        public.consumer_base_url = "https://app.example".parse().unwrap();
        assert!(!is_accepted(public), "{secret}");

        let mut remote = local.clone();
        remote.client_secret = secret.parse().unwrap();
        remote.signin_base_url = "https://signin.example".parse().unwrap();
        assert!(!is_accepted(remote), "{secret}");
    }

    let mut public = local;
    public.client_secret = REAL_SECRET.parse().unwrap();
    public.consumer_base_url = "https://app.example".parse().unwrap();
    assert!(is_accepted(public));
}

#[test]
fn c19_a_server_with_an_example_secret_does_not_listen_to_the_network() {
    let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
    let app = App::new(config("http://127.0.0.1:8000"), Clock::system()).unwrap();
    assert!(app.rocket(everywhere).is_err());
    assert!(app.rocket("[::1]:0".parse().unwrap()).is_ok());

    let mut real = config("http://127.0.0.1:8000");
    real.client_secret = REAL_SECRET.parse().unwrap();
    let app = App::new(real, Clock::system()).unwrap();
    assert!(app.rocket(everywhere).is_ok());
}

#[test]
fn an_error_does_not_contain_the_secret() {
    let mut public = config("http://127.0.0.1:8000");
    public.client_secret = "hunter2".parse().unwrap();
    public.consumer_base_url = "https://app.example".parse().unwrap();
    assert!(!format!("{public:?}").contains("hunter2"));
    let error = App::new(public, Clock::system()).err().unwrap();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
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

//! The settings that the application refuses (C19), and those of its server.

use std::net::SocketAddr;

use consumer_demo::{App, Clock, StartError};

use crate::test_consumer::config;

const REAL_SECRET: &str = "q3Zx9Lr2Vt7Wn4Kp8Ys1Bm6Jd5Hc0Fg";

// Threats: RAUTHY-009.
#[test]
fn c19_an_example_secret_is_for_this_machine_only() {
    const HERE: &str = "http://127.0.0.1:8000";
    const BROKER: &str = "https://signin.example";
    const APP: &str = "https://app.example";
    const BIND: &str = "[::1]:0";
    for (secret, broker, consumer, bind, is_accepted) in [
        ("dev", HERE, HERE, BIND, true),
        ("dev", HERE, HERE, "0.0.0.0:0", false),
        ("dev", HERE, APP, BIND, false),
        ("dev", BROKER, HERE, BIND, false),
        ("demo-client-secret-for-everyone", HERE, APP, BIND, false),
        ("CHANGEME-CHANGEME-CHANGEME", BROKER, HERE, BIND, false),
        (&REAL_SECRET[..21], HERE, APP, BIND, false),
        (&REAL_SECRET[..22], HERE, APP, BIND, true),
        (REAL_SECRET, BROKER, APP, "0.0.0.0:0", true),
    ] {
        let mut config = config(broker);
        config.client_secret = secret.parse().unwrap();
        config.consumer_base_url = consumer.parse().unwrap();
        let bind: SocketAddr = bind.parse().unwrap();
        let started = App::new(config, Clock::system()).and_then(|app| app.rocket(bind).map(drop));
        let seen = match started {
            Ok(()) => true,
            Err(StartError::ExampleSecret) => false,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(seen, is_accepted, "{secret} {broker} {consumer} {bind}");
    }
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

//! The store under a running broker. `/livez` and `/readyz`: the broker starts without its
//! database, and reports that it is not ready. A store that fails: no step happens by half,
//! and every login survives. Expired rows, deleted while a broker serves. And no secret is in
//! the database's files or in the audit log.

use std::sync::mpsc::channel;
use std::time::Duration;

use broker::Dependencies;
use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use broker::store::StoreUrl;
use broker::store::fail_points::{FailPoint, FailPoints};
use serde_json::json;
use testkit::http::Response;
use testkit::leak_check::LeakCheck;

use crate::fake_provider::ACCESS_TOKEN;
use crate::installation::{FileBroker, Scratch};
use crate::test_broker::{
    ADA_SECRET, CALLBACK, OUR_SECRET, TestBroker, adas_profile, authorize_path, key, parameter,
    session_body, state, verifier,
};

#[tokio::test]
async fn a_broker_is_live_also_without_its_database_and_ready_only_with_it() {
    let [live, ready] = ["live", "ready"].map(|it| json!({ "status": it }));
    let broker = TestBroker::start().await;
    broker.get("/livez").await.is_json(200, &live);
    broker.get("/readyz").await.is_json(200, &ready);
    // Port 1 of loopback: closed on any sane machine.
    let broker = TestBroker::start_with(|config| {
        config.store.url = "postgres://127.0.0.1:1/broker".parse().unwrap();
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    })
    .await;
    broker.get("/livez").await.is_json(200, &live);
    let unreachable = "store.reachable";
    broker.has_refused(&broker.get("/readyz").await, 503, unreachable);
    let (path, body) = ("/v1/login/session", session_body(1));
    broker.refuses(path, &body, 503, unreachable).await;
    assert_eq!(broker.get("/api/providers").await.status, 200);
}

// Threats: A23, CVE-2020-15223.
#[tokio::test]
async fn a_failed_revocation_or_exchange_is_not_reported_as_done() {
    let broker = FileBroker::start().await;
    let (token, code) = (broker.access_token().await, broker.code().await);
    broker.disable("grants");
    for response in [
        broker.revoke(&token).await,
        broker.profile(&token).await,
        broker.token(&code).await,
    ] {
        broker.has_refused(&response, 503, "store.reachable");
    }
    broker.enable("grants");
    assert_eq!(broker.token(&code).await.status, 200);
    broker.profile(&token).await.is_json(200, &adas_profile());
    broker.revoke(&token).await.is_json(200, &json!({}));
    broker.profile(&token).await.is_refusal(401);
}

// Threats: A37.
#[tokio::test]
async fn a_login_survives_an_outage() {
    let broker = FileBroker::start().await;
    broker.sign_in(1).await;
    let path = broker.session(2).await;
    broker.disable("logins");
    broker.result(1).await.is_refusal(503);
    let session = broker.post("/v1/login/session", &session_body(3)).await;
    session.is_refusal(503);
    let page = broker.browser().get(&path).await;
    page.is_refusal_page(503, "store.reachable");
    broker.enable("logins");
    broker.has_status(1, "succeeded").await;
    broker.session(3).await;
    let redirect = broker.browser().get(&path).await;
    assert_eq!(redirect.status, 303);
}

// Threats: B30.
#[tokio::test]
async fn an_upstream_login_reaches_the_provider_once_it_is_consumed_and_then_returns_in_any_case() {
    let broker = FileBroker::start().await;
    let (browser, back) = broker.at_provider(1).await;
    broker.disable("spent_trips");
    let page = browser.get(&back).await;
    page.is_refusal_page(503, "store.reachable");
    assert_eq!(broker.calls_upstream(), 0);
    broker.enable("spent_trips");

    broker.disable("logins");
    let returned = browser.get(&back).await;
    assert_eq!(broker.last_rule(), Some("store.reachable"));
    returned.redirects_to(CALLBACK);
    assert_eq!(broker.calls_upstream(), 3);
    broker.enable("logins");
    broker.has_status(1, "pending").await;
}

// Threats: B30.
#[tokio::test]
async fn a_legacy_login_whose_code_cannot_be_stored_returns_an_error() {
    let broker = FileBroker::start().await;
    let (browser, back) = broker.at_provider_in_legacy().await;
    broker.disable("grants");
    let returned = browser.get(&back).await;
    assert_eq!(broker.last_rule(), Some("store.reachable"));
    let error = format!("error=provider_unavailable&state={}", state());
    returned.redirects_to(&format!("{CALLBACK}?{error}"));
}

fn logins(scratch: &Scratch) -> i64 {
    let file = rusqlite::Connection::open(scratch.file("broker.db")).unwrap();
    file.query_row("SELECT count(*) FROM logins", [], |row| row.get(0))
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_deletes_expired_rows_for_as_long_as_it_serves() {
    let scratch = Scratch::new();
    let (sender, committed) = channel();
    let dependencies = Dependencies {
        fail_points: FailPoints::new(move |point| {
            if point == FailPoint::AfterCommit {
                let _ = sender.send(());
            }
        }),
        sweep_every: Some(Duration::from_millis(1)),
        ..Dependencies::default()
    };
    let broker = TestBroker::start_in(dependencies, |config| {
        config.store.url = StoreUrl::SqliteFile(scratch.file("broker.db"));
    })
    .await;
    for key in [1, 2] {
        broker.session(key).await;
        assert_eq!(logins(&scratch), 1, "it is known for 1200 seconds");
        broker.advance_ms(1_200_000);
        while logins(&scratch) > 0 {
            let step = committed.recv_timeout(Duration::from_secs(20));
            step.expect("the sweeper runs without requests");
        }
    }
}

/// The key that encrypts the cookies of upstream logins.
const COOKIE_KEY: &[u8; 32] = b"CookieKey-9vK2mW9pL4tR8sB3nF6hJ1";

const CODE: &str = "upstream-code-7vK2mW9pL4tR8sB3nF6hJ1";

fn with_a_known_cookie_key(config: &mut Config) {
    config.cookie_keys = vec![CookieKey::from_random(COOKIE_KEY)];
}

// Threats: A14, A41, B27.
#[tokio::test]
async fn no_secret_is_in_the_database_or_in_the_audit_log() {
    let scratch = Scratch::new();
    let file = scratch.file("broker.db");
    let broker = TestBroker::start_with(|config| {
        config.store.url = StoreUrl::SqliteFile(file);
        with_a_known_cookie_key(config);
    })
    .await;
    let secrets = secrets_of_all_logins(&broker).await;
    let files = scratch.read_all("broker.db");
    assert!(files.len() >= 2, "a database and its write-ahead log");
    check(&files, &secrets);

    let audit = format!("{:?}", broker.events());
    assert_eq!(secrets.search(&audit), []);
    assert!(!audit.contains("/login/oauth") && !audit.contains("app.example"));
}

/// The write-ahead log of a server has every version of every row.
// Threats: A14.
#[cfg(feature = "postgres")]
#[tokio::test]
async fn no_secret_is_in_the_log_of_postgresql() {
    use crate::storage::postgres::connect;
    use testkit::postgres::{Durability, Server};

    let server = Server::start(Durability::Relaxed).unwrap();
    let url = server.url("postgres");
    let client = connect(&url).await;
    client.query("SELECT pg_switch_wal()", &[]).await.unwrap();

    let broker = TestBroker::start_with(|config| {
        config.store.url = url.parse().unwrap();
        with_a_known_cookie_key(config);
    })
    .await;
    let secrets = secrets_of_all_logins(&broker).await;

    let segment = "SELECT pg_walfile_name(pg_current_wal_lsn())";
    let segment: String = client.query_one(segment, &[]).await.unwrap().get(0);
    let mut bytes = std::fs::read(server.cluster().join("pg_wal").join(&segment)).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes.truncate(end + 1);
    check(&[(segment, bytes)], &secrets);
}

/// Asserts that no file has one of the secrets, in any spelling.
#[track_caller]
fn check(files: &[(String, Vec<u8>)], secrets: &LeakCheck) {
    let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(total > 4096, "the rows are in the files");
    let stored = LeakCheck::over([("address", "ada@mail.example")]);
    let mut contents = files.iter().map(|(_, bytes)| bytes);
    assert!(
        contents.any(|bytes| !stored.search(bytes).is_empty()),
        "the search finds a value that is stored"
    );
    for (name, bytes) in files {
        assert_eq!(secrets.search(bytes), [], "in {name}");
    }
}

fn upstream_state(redirect: &Response) -> String {
    parameter(redirect.location().unwrap(), "state").unwrap()
}

/// Logs in through both flows to every possible state, and returns all secrets.
async fn secrets_of_all_logins(broker: &TestBroker) -> LeakCheck {
    let mut secrets = vec![
        ("client secret", ADA_SECRET.to_owned()),
        ("secret at the provider", OUR_SECRET.to_owned()),
        ("provider's token", ACCESS_TOKEN.to_owned()),
        ("provider's code", CODE.to_owned()),
        (
            "cookie key",
            String::from_utf8(COOKIE_KEY.to_vec()).unwrap(),
        ),
        ("state", state()),
        ("verifier", verifier()),
    ];
    secrets.extend([1, 2, 3].map(|n| ("session key", key(n))));
    let browser = broker.browser();

    // One result is read, one is unread, one login is pending.
    for n in [1, 2, 3] {
        let path = broker.session(n).await;
        secrets.push(("handle", path.rsplit('/').next().unwrap().to_owned()));
        let redirect = browser.get(&path).await;
        secrets.push(("state", upstream_state(&redirect)));
        if n < 3 {
            let returned = browser.come_back(&redirect, &format!("code={CODE}")).await;
            assert_eq!(returned.status, 303);
        }
    }
    assert_eq!(broker.result(1).await.status, 200);

    // One code is unused, one token is valid, one revoked, one ended by a second
    // redemption.
    let redirect = browser.get(&authorize_path()).await;
    secrets.push(("state", upstream_state(&redirect)));
    for n in 0..4 {
        let code = broker.code().await;
        if n > 0 {
            let token = &broker.redeem(&code).await;
            secrets.push(("access token", token.trim_start_matches("fsi_").to_owned()));
            match n {
                2 => assert_eq!(broker.revoke(token).await.status, 200),
                3 => assert_eq!(broker.token(&code).await.status, 400),
                _ => assert_eq!(broker.profile(token).await.status, 200),
            }
        }
        secrets.push(("code", code));
    }
    let cookies = browser.cookies().into_values();
    secrets.extend(cookies.map(|cookie| ("cookie", cookie)));
    LeakCheck::over(secrets)
}

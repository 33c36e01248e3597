//! No secret is in the database's files or in the audit log.

use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use broker::store::StoreUrl;
use testkit::http::Response;
use testkit::leak_check::LeakCheck;

use crate::fake_provider::{ACCESS_TOKEN, OUR_SECRET};
use crate::installation::Scratch;
use crate::test_broker::{ADA_SECRET, TestBroker, authorize_path, key, parameter, state, verifier};

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
            let token = broker.token(&code).await.json()["access_token"].clone();
            let token = token.as_str().unwrap();
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

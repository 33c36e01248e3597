//! Nothing secret at rest, and nothing secret in the ledger.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use broker::store::StoreUrl;

use super::world::{
    ADA_SECRET, Browser, UPSTREAM_TOKEN, World, authorize_path, key, parameter, state, verifier,
};
use crate::scratch::Scratch;

/// The ways in which a text may be written down.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let bytes = secret.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let escaped: String = url::form_urlencoded::byte_serialize(bytes).collect();
    // In base64 a text looks otherwise at each of three offsets; the two
    // characters at both ends depend on its neighbours.
    let shifted = (0..3).map(|shift| {
        let text = STANDARD.encode([&b"xx"[..shift], bytes].concat());
        text.as_bytes()[4..text.len() - 4].to_vec()
    });
    let mut forms = vec![
        bytes.to_vec(),
        hex.to_uppercase().into(),
        hex.into(),
        escaped.into(),
    ];
    forms.extend(shifted);
    // A value of 32 bytes may also rest decoded.
    forms.extend(URL_SAFE_NO_PAD.decode(secret).ok());
    forms
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[tokio::test]
async fn no_secret_is_in_the_database_or_in_the_ledger() {
    let scratch = Scratch::new();
    let file = scratch.file("broker.db");
    let world = World::start_with(|config| config.store.url = StoreUrl::SqliteFile(file)).await;
    let secrets = secrets_of_a_whole_life(&world).await;
    let files = scratch.read_all("broker.db");
    assert!(files.len() >= 2, "a database and its key");
    check(&files, &secrets);

    let ledger = format!("{:?}", world.events());
    for (secret, form) in in_all_forms(&secrets) {
        let is_told = contains(ledger.as_bytes(), &form);
        assert!(!is_told, "{secret} is in the ledger");
    }
    assert!(!ledger.contains("/login/oauth") && !ledger.contains("app.example"));
}

/// The log that a server writes ahead has every row as it ever was.
#[cfg(feature = "postgres")]
#[tokio::test]
async fn no_secret_is_in_what_postgresql_writes_down() {
    use throwaway_postgres::{Durability, Server};

    let server = Server::start(Durability::Hasty).unwrap();
    let url = server.url("postgres");
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    client.query("SELECT pg_switch_wal()", &[]).await.unwrap();

    let world = World::start_with(crate::http::health::on_postgres(&url)).await;
    let secrets = secrets_of_a_whole_life(&world).await;

    let segment = "SELECT pg_walfile_name(pg_current_wal_lsn())";
    let segment: String = client.query_one(segment, &[]).await.unwrap().get(0);
    let mut bytes = std::fs::read(server.cluster().join("pg_wal").join(&segment)).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes.truncate(end + 1);
    check(&[(segment, bytes)], &secrets);
}

/// Checks that a secret is in none of the files, in whatever form.
#[track_caller]
fn check(files: &[(String, Vec<u8>)], secrets: &[String]) {
    let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(total > 4096, "the rows are in the files");
    let mut contents = files.iter().map(|(_, bytes)| bytes);
    assert!(
        contents.any(|bytes| contains(bytes, b"ada@mail.example")),
        "what is stored is found by this search"
    );
    for (secret, form) in in_all_forms(secrets) {
        for (name, bytes) in files {
            assert!(!contains(bytes, &form), "{secret} is in {name}");
        }
    }
}

fn in_all_forms(secrets: &[String]) -> impl Iterator<Item = (&String, Vec<u8>)> {
    let each = secrets.iter();
    each.flat_map(|secret| forms(secret).into_iter().map(move |form| (secret, form)))
}

/// Signs in as far as one can come in either flow, and tells what was secret.
async fn secrets_of_a_whole_life(world: &World) -> Vec<String> {
    let mut secrets = vec![
        ADA_SECRET.to_owned(),
        "GitHubSecret-k2mW9pL4tR8sB3nF6hJ1dG5yC0Qx".to_owned(),
        UPSTREAM_TOKEN.to_owned(),
        "upstream-code-7vK2mW9pL4tR8sB3nF6hJ1".to_owned(),
        state(),
        verifier(),
        key(1),
        key(2),
        key(3),
    ];
    let browser = Browser::of(world);

    // One login read, one unread, one pending.
    for n in [1, 2, 3] {
        let path = world.session(n).await;
        secrets.push(path.rsplit('/').next().unwrap().to_owned());
        let away = browser.get(&path).await;
        secrets.push(parameter(away.location().unwrap(), "state").unwrap());
        if n < 3 {
            let query = "code=upstream-code-7vK2mW9pL4tR8sB3nF6hJ1";
            assert_eq!(browser.come_back(&away, query).await.status, 303);
        }
    }
    assert_eq!(world.result(1).await.status, 200);

    // One code unused, one token living, one revoked, one ended.
    let away = browser.get(&authorize_path()).await;
    secrets.push(parameter(away.location().unwrap(), "state").unwrap());
    for n in 0..4 {
        let code = world.code().await;
        if n > 0 {
            let token = world.token(&code).await.json()["access_token"].clone();
            let token = token.as_str().unwrap();
            secrets.push(token.to_owned());
            secrets.push(token.trim_start_matches("fsi_").to_owned());
            match n {
                2 => assert_eq!(world.revoke(token).await.status, 200),
                3 => assert_eq!(world.token(&code).await.status, 400),
                _ => assert_eq!(world.profile(token).await.status, 200),
            }
        }
        secrets.push(code);
    }
    secrets.extend(browser.cookies().into_values());
    secrets
}

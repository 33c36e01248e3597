//! The shared engine: one PostgreSQL server for the whole run with one schema per test, and
//! the same behind pgbouncer in transaction mode, which hands two sessions of the server
//! around, with one database per test. Several brokers on one database, for the steps that
//! only one may take at a time, and a server that is killed. And TLS to a server, checked as
//! `sslmode=verify-full` says. Needs PostgreSQL's programs and pgbouncer; `just test` installs
//! them.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use broker::store::fail_points::FailPoints;
use broker::store::{Store, StoreUrl};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, date_time_ymd};
use rocket::futures::future::join_all;
use testkit::postgres::{Bouncer, Durability, PASSWORD_GROUP, Server};
use tokio_postgres::{Client, NoTls};

use super::sqlite::{assert_every_step_is_stored, take_every_step};
use super::test_store::{Engine, PausedStep, TestStore, open_at};
use crate::installation::Scratch;
use crate::tls::{authority, certificate};

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    Server::start(Durability::Relaxed).expect("PostgreSQL: `just test` installs it")
});

/// A name that no other test has.
fn fresh_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The schema of one test.
pub(crate) struct Schema(String);

impl Schema {
    pub(crate) async fn new() -> Self {
        let schema = Self(fresh_name());
        schema.execute(&format!("CREATE SCHEMA {}", schema.0)).await;
        schema
    }

    /// A schema that belongs to a role of the same name, which signs in by this
    /// password.
    pub(crate) async fn with_password(password: &str) -> Self {
        let schema = Self(fresh_name());
        let name = &schema.0;
        schema
            .execute(&format!(
                "CREATE ROLE {name} LOGIN PASSWORD '{password}' IN ROLE {PASSWORD_GROUP};
                 CREATE SCHEMA {name} AUTHORIZATION {name}"
            ))
            .await;
        schema
    }

    pub(crate) async fn change_password(&self, password: &str) {
        self.execute(&format!("ALTER ROLE {} PASSWORD '{password}'", self.0))
            .await;
    }

    /// The URL of the role with the schema's name.
    pub(crate) fn url_with(&self, password: &str) -> String {
        SERVER.url_of_role(&self.0, password)
    }

    /// The names of its tables.
    pub(crate) async fn tables(&self) -> Vec<String> {
        const NAMES: &str = "SELECT tablename FROM pg_tables WHERE schemaname = $1";
        let rows = self.client().await.query(NAMES, &[&self.name()]).await;
        rows.unwrap().iter().map(|row| row.get(0)).collect()
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// Another database of the same server.
    pub(crate) fn url_of_database(&self, database: &str) -> String {
        SERVER.url(database)
    }

    /// Runs a statement on a connection of its own.
    pub(crate) async fn execute(&self, statement: &str) {
        self.client().await.batch_execute(statement).await.unwrap();
    }

    async fn client(&self) -> Client {
        connect(&self.url()).await
    }
}

/// A session of the database at this address.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn count(client: &Client, select: &str) -> i64 {
    client.query_one(select, &[]).await.unwrap().get(0)
}

#[async_trait]
impl Engine for Schema {
    fn url(&self) -> String {
        SERVER.url_of_schema(&self.0)
    }

    async fn count(&self, select: &str) -> i64 {
        count(&self.client().await, select).await
    }
}

/// A server whose defaults are the opposite of what the store relies on, and its pooler.
static POOLED: LazyLock<(Server, Bouncer)> = LazyLock::new(|| {
    let contrary = [
        "synchronous_commit=off",
        "default_transaction_isolation=serializable",
    ];
    let server = Server::start_with(Durability::Relaxed, &contrary).expect("PostgreSQL");
    let two_sessions = ["default_pool_size = 2", "max_client_conn = 1000"];
    let bouncer =
        Bouncer::start(&server, &two_sessions).expect("pgbouncer: `just test` installs it");
    (server, bouncer)
});

/// A whole database: its address for a broker, and the one past a pooler.
pub(crate) struct Database {
    url: String,
    direct: String,
}

#[async_trait]
impl Engine for Database {
    fn url(&self) -> String {
        self.url.clone()
    }

    async fn count(&self, select: &str) -> i64 {
        count(&connect(&self.direct).await, select).await
    }
}

/// The database of one test behind the pooler.
pub(crate) async fn pooled() -> Database {
    let ((server, bouncer), name) = (&*POOLED, fresh_name());
    let client = connect(&server.url("postgres")).await;
    let create = format!("CREATE DATABASE {name}");
    client.batch_execute(&create).await.unwrap();
    Database {
        url: format!("{}?pool_mode=transaction", bouncer.url(&name)),
        direct: server.url(&name),
    }
}

/// The error of a broker whose address does not name the pooler, behind one with this
/// line in its configuration.
async fn refusal(setting: &str) -> String {
    let server = Server::start_with(Durability::Relaxed, &["synchronous_commit=off"]).unwrap();
    let bouncer = Bouncer::start(&server, &[setting]).unwrap();
    let store = open_at(&bouncer.url("postgres"), FailPoints::NONE);
    store.ready().await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_pooler_that_refuses_or_ignores_the_settings_is_named_with_the_way_out() {
    for (setting, reason) in [
        ("", "unsupported startup parameter"),
        (
            "ignore_startup_parameters = options",
            "synchronous_commit=on",
        ),
    ] {
        let error = refusal(setting).await;
        assert!(error.contains(reason), "{setting:?}: {error}");
        assert!(
            error.contains("pool_mode=transaction"),
            "{setting:?}: {error}"
        );
    }
}

// Threats: L3.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn while_one_broker_sweeps_another_deletes_nothing() {
    let store = TestStore::on(Schema::new().await);
    store.open(1).await;
    store.at_ms(1_200_000);
    let (fail_points, step) = PausedStep::new();
    let (sweeper, now) = (store.engine.open_with(fail_points), store.now());
    let sweeping = tokio::spawn(async move { sweeper.sweep(now).await });
    step.wait();
    let other = store.inner.sweep(now).await;
    step.resume();
    assert_eq!(other.unwrap(), 0, "it neither deletes nor waits");
    assert_eq!(sweeping.await.unwrap().unwrap(), 1);
    assert_eq!(store.rows("logins").await, 0);
    assert_eq!(store.sweep().await, 0, "the lock is released");
}

// Threats: L3.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn brokers_that_start_at_once_on_an_empty_database_create_its_tables_once() {
    for _ in 0..10 {
        let schema = Schema::new().await;
        let open = |_| open_at(&schema.url(), FailPoints::NONE);
        let brokers: Vec<_> = (0..3).map(open).collect();
        for ready in join_all(brokers.iter().map(Store::ready)).await {
            ready.unwrap();
        }
        let versions = schema.count("SELECT count(*) FROM broker_schema").await;
        assert_eq!(versions, 1);
    }
}

/// The settings of this server let it acknowledge a commit ten seconds before it is
/// written, unless a session insists on durability.
// Threats: L8.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_acknowledged_step_is_stored_after_the_server_was_killed() {
    let lazy = ["synchronous_commit=off", "wal_writer_delay=10s"];
    let mut server = Server::start_with(Durability::Durable, &lazy).unwrap();
    let url = server.url("postgres");
    let open = || {
        let (url, direct) = (url.clone(), url.clone());
        TestStore::on(Database { url, direct })
    };
    take_every_step(&open()).await;
    server.kill().unwrap();
    server.start_again().unwrap();
    assert_every_step_is_stored(&open()).await;
}

const PASSWORD: &str = "LeakMark of the database";

/// A server with a certificate, and the files of its authority and of another.
struct TlsServer {
    server: Server,
    scratch: Scratch,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl TlsServer {
    /// A server with TLS, whose certificate is for `localhost`.
    fn start() -> Self {
        let mut started = Self::start_without_tls();
        started.certify("localhost", |_| ());
        started
    }

    fn start_without_tls() -> Self {
        let mut server = Server::start_on_tcp(Durability::Relaxed).unwrap();
        let role =
            format!("CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}' IN ROLE {PASSWORD_GROUP}");
        server.execute(&role).unwrap();
        server
            .execute("GRANT ALL ON SCHEMA public TO guest")
            .unwrap();
        let ([authority, other], scratch) = ([(); 2].map(|()| authority()), Scratch::new());
        scratch.write("ca.pem", &authority.pem());
        scratch.write("other.pem", &other.pem());
        Self {
            server,
            scratch,
            authority,
        }
    }

    /// Gives the server a certificate for `name`, changed by `change`.
    fn certify(&mut self, name: &str, change: impl FnOnce(&mut CertificateParams)) {
        let (certificate, key) = certificate(&self.authority, name, change);
        let cluster = self.server.cluster();
        let owner = std::fs::metadata(&cluster).unwrap();
        for (file, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = cluster.join(file);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
        self.server.execute("ALTER SYSTEM SET ssl = on").unwrap();
        self.server.execute("SELECT pg_reload_conf()").unwrap();
        // The processes that serve connections are started after it was read.
        let on = "SHOW ssl";
        while self.server.execute(on).unwrap() != "on" {}
    }

    /// The address, with the authority in this file.
    fn url(&self, host: &str, authority: &str) -> String {
        let file = self.scratch.file(authority);
        let url = self.server.url_at(host);
        let url = url.replacen(
            "broker@",
            &format!("guest:{}@", PASSWORD.replace(' ', "%20")),
            1,
        );
        format!("{url}?sslmode=verify-full&sslrootcert={}", file.display())
    }

    /// Checks that the broker does not connect, for this reason and with this advice.
    async fn assert_refused(&self, host: &str, authority: &str, reason: &str, advice: &str) {
        let opened = self
            .url(host, authority)
            .parse::<StoreUrl>()
            .map_err(str::to_owned);
        let opened = opened.and_then(|url| {
            broker::store::open(&url, FailPoints::NONE).map_err(|it| it.to_string())
        });
        let error = match opened {
            Ok(store) => store.ready().await.unwrap_err().to_string(),
            Err(error) => error,
        };
        assert!(error.contains(reason) && error.contains(advice), "{error}");
        assert!(!error.contains(PASSWORD), "{error}");
    }
}

#[tokio::test]
async fn a_connection_to_the_right_server_is_encrypted() {
    let mut here = TlsServer::start();
    let store = open_at(&here.url("localhost", "ca.pem"), FailPoints::NONE);
    store.ready().await.unwrap();
    let select = "SELECT ssl, version FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                  WHERE usename = 'guest'";
    assert_eq!(here.server.execute(select).unwrap(), "t|TLSv1.3");
}

#[tokio::test]
async fn a_server_with_another_authority_another_name_or_an_expired_certificate_is_refused() {
    let here = TlsServer::start();
    for (host, authority, reason, advice) in [
        (
            "localhost",
            "other.pem",
            "invalid peer certificate",
            "by sslrootcert in store.url",
        ),
        (
            "127.0.0.1",
            "ca.pem",
            "not valid for name",
            "must be a name in",
        ),
    ] {
        here.assert_refused(host, authority, reason, advice).await;
    }
    let mut expired = TlsServer::start_without_tls();
    expired.certify("localhost", |params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let advice = "renew the server's certificate";
    expired
        .assert_refused("localhost", "ca.pem", "expired", advice)
        .await;
}

#[tokio::test]
async fn a_server_without_tls_is_refused_and_a_file_without_an_authority_is_named() {
    let here = TlsServer::start_without_tls();
    here.scratch.write("empty.pem", "");
    for (authority, reason, advice) in [
        ("ca.pem", "does not support TLS", "set ssl=on"),
        ("absent.pem", "/absent.pem", "cannot be read"),
        ("empty.pem", "/empty.pem", "contains no certificate"),
    ] {
        here.assert_refused("localhost", authority, reason, advice)
            .await;
    }
}

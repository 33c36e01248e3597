//! The shared engine: one server for the whole run, a schema of its own for
//! every test. Needs PostgreSQL's programs; `just test` installs them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use broker::store::{Store, StoreUrl};
use tokio_postgres::NoTls;

use super::bench::Engine;

static SERVER: LazyLock<Server> = LazyLock::new(Server::start);

/// Makes a cluster in a folder of its own and serves it over a unix socket until
/// standard input closes, which it does with this process; then nothing is left.
/// PostgreSQL refuses to run as root, so root becomes `postgres` first.
const UNTIL_WE_END: &str = r#"
set -eu
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
folder=$(mktemp -d)
as=""
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
cd "$folder"
trap 'rm -rf "$folder"' EXIT
$as "$programs/initdb" -D "$folder/data" -U broker --auth=trust --no-sync >/dev/null
$as "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= \
    -c max_connections=400 -c fsync=off -c log_min_messages=panic &
server=$!
until "$programs/pg_isready" -q -h "$folder"; do kill -0 $server; done
echo "$folder"
read -r _ || true
kill -INT $server
wait $server || true
"#;

struct Server {
    folder: String,
    _process: Child,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new("sh")
            .args(["-c", UNTIL_WE_END])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut said = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut said).unwrap();
        let folder = said.trim().to_owned();
        assert!(
            !folder.is_empty(),
            "PostgreSQL does not start: `just test` installs it"
        );
        Self {
            folder,
            _process: process,
        }
    }
}

/// A schema of one test.
#[derive(Clone)]
pub(crate) struct Schema(Arc<String>);

impl Schema {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Self(Arc::new(name))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    pub(crate) fn url(&self) -> String {
        format!(
            "{}?options=-csearch_path%3D{}",
            self.url_of_database("postgres"),
            self.0
        )
    }

    /// Another database of the same server.
    pub(crate) fn url_of_database(&self, database: &str) -> String {
        let folder = SERVER.folder.replace('/', "%2F");
        format!("postgres://broker@{folder}/{database}")
    }

    /// Does something behind the broker's back.
    pub(crate) async fn execute(&self, statement: &str) {
        self.client().await.batch_execute(statement).await.unwrap();
    }

    async fn client(&self) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }
}

#[async_trait]
impl Engine for Schema {
    async fn open(&self) -> Arc<dyn Store> {
        self.execute(&format!("CREATE SCHEMA IF NOT EXISTS {}", self.0))
            .await;
        let url: StoreUrl = self.url().parse().unwrap();
        broker::store::open(&url).unwrap()
    }

    async fn count(&self, select: &str) -> i64 {
        self.client()
            .await
            .query_one(select, &[])
            .await
            .unwrap()
            .get(0)
    }
}

//! A broker on a PostgreSQL server: it is ready as soon as its database is there, while the
//! two clocks agree, and by the right password; the tables of a newer version, which it leaves
//! alone; and a server that is blocked, because another session has the locks that the steps
//! need.

use std::time::Duration;

use broker::clock::{Clock, Reading};
use broker::config::Config;
use broker::cookie_cipher::CookieKey;
use rocket::futures::future::join_all;
use serde_json::json;

use crate::installation::Installation;
use crate::storage::postgres::{Schema, connect};
use crate::storage::test_store::Engine as _;
use crate::test_broker::{CALLBACK, TestBroker, adas_profile, session_body};

/// Changes the configuration to that of a broker on this database.
fn on(url: &str) -> impl FnOnce(&mut Config) {
    let url = url.parse().unwrap();
    move |config| {
        config.store.url = url;
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    }
}

#[tokio::test]
async fn a_broker_becomes_ready_when_its_database_appears() {
    let database = Schema::new().await;
    let broker = TestBroker::start_with(on(&database.url_of_database("later"))).await;
    broker.get("/readyz").await.is_refusal(503);
    database.execute("CREATE DATABASE later").await;
    assert_eq!(broker.get("/readyz").await.status, 200);
    broker.session(1).await;
}

/// A broker whose clock is `ms` ahead of the database's.
async fn ahead_by(ms: i64) -> TestBroker {
    let system = Clock::system();
    let clock = Clock::from_source(move || Reading {
        wall: system.now().plus_ms(ms),
        monotonic_ms: 0,
    });
    let database = Schema::new().await;
    TestBroker::start_on(clock, on(&database.url())).await
}

// Threats: L3.
#[tokio::test]
async fn a_broker_is_ready_while_its_clock_is_30_seconds_off_the_databases_at_most() {
    for ms in [-28_000, 0, 28_000] {
        let broker = ahead_by(ms).await;
        assert_eq!(broker.get("/readyz").await.status, 200, "{ms}");
        broker.advance_ms(3_600_000);
        let advanced = broker.get("/readyz").await.status;
        assert_eq!(advanced, 200, "an advanced clock is no wrong one");
    }
    for ms in [-32_000, 32_000, 3_600_000] {
        let broker = ahead_by(ms).await;
        broker.has_refused(&broker.get("/readyz").await, 503, "store.reachable");
    }
}

// Threats: L3.
#[tokio::test]
async fn a_broker_does_not_start_on_a_database_whose_clock_is_an_hour_off() {
    let database = Schema::new().await;
    // PostgreSQL finds this function before its own.
    database
        .execute(&format!(
            "CREATE FUNCTION {}.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
             $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$",
            database.name()
        ))
        .await;
    let url = database.url() + ",pg_catalog";
    let installation = Installation::with_store(&url);
    let message = "s behind the database's, and may differ by 30 s";
    installation.refuses_to_start(&[message, "set the clocks right"]);
}

const RIGHT: &str = "Swordfish-7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";
const WRONG: &str = "Anchovies-7vK2mW9pL4tR8sB3nF6hJ1dG5yC0";

#[tokio::test]
async fn a_wrong_password_is_one_line_and_no_password_is_shown() {
    let schema = Schema::with_password(RIGHT).await;
    let output = Installation::with_store(&schema.url_with(RIGHT)).check();
    let output = output.succeeded();
    assert!(!output.out.contains(RIGHT), "{}", output.out);
    let output = Installation::with_store(&schema.url_with(WRONG)).check();
    output.failed("cannot open postgres://[redacted]");
    output.failed("password authentication failed");
    output.failed("store.url");
    assert!(!output.err.contains(WRONG) && !output.out.contains(WRONG));
}

#[tokio::test]
async fn a_broker_with_a_wrong_password_answers_503_until_it_is_right() {
    let schema = Schema::with_password(RIGHT).await;
    let served = Installation::with_store(&schema.url_with(WRONG)).serve();
    let answers = [served.get("/readyz").await, served.session(1).await];
    for answer in answers {
        answer.is_refusal(503);
        assert!(!answer.text().contains(WRONG));
    }
    served.logged("password authentication failed");

    schema.change_password(WRONG).await;
    assert_eq!(served.get("/readyz").await.status, 200);
    assert_eq!(served.session(1).await.status, 200);
    let log = served.kill();
    assert!(!log.contains(WRONG), "{log}");
}

#[tokio::test]
async fn a_newer_database_is_left_alone_and_reported() {
    let schema = Schema::new().await;
    schema
        .execute("CREATE TABLE broker_schema (version BIGINT NOT NULL)")
        .await;
    schema.execute("INSERT INTO broker_schema VALUES (2)").await;
    let installation = Installation::with_store(&schema.url());
    let cannot_open = "broker: cannot open postgres://";
    installation.refuses_to_start(&[cannot_open, "the tables of version 2"]);
    assert_eq!(schema.tables().await, ["broker_schema"]);
}

#[tokio::test]
async fn a_broker_whose_tables_became_newer_is_not_ready() {
    let schema = Schema::new().await;
    let served = Installation::with_store(&schema.url()).serve();
    assert_eq!(served.get("/readyz").await.status, 200);
    schema.execute("UPDATE broker_schema SET version = 2").await;
    served.get("/readyz").await.is_refusal(503);
    served.logged("the tables of version 2");
    schema.execute("UPDATE broker_schema SET version = 1").await;
    assert_eq!(served.get("/readyz").await.status, 200);
}

/// A broker with a schema of its own.
struct PostgresBroker {
    broker: TestBroker,
    schema: Schema,
}

impl PostgresBroker {
    async fn start() -> Self {
        let schema = Schema::new().await;
        let broker = TestBroker::start_with(|config| {
            on(&schema.url())(config);
            // Requests are to reach the database although it is overloaded.
            config.limits.overload_delay_ms = 60_000.try_into().unwrap();
        })
        .await;
        let ready = broker.get("/readyz").await;
        assert_eq!(ready.status, 200, "the tables are made");
        Self { broker, schema }
    }

    /// Begins a transaction with this statement in another session.
    async fn hold(&self, statement: &str) -> tokio_postgres::Client {
        let client = connect(&self.schema.url()).await;
        let begin = format!("BEGIN; {statement}");
        client.batch_execute(&begin).await.unwrap();
        client
    }

    /// Waits until this number of steps wait for a lock.
    async fn wait_for_blocked(&self, steps: i64) {
        let waiting = format!(
            "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
             WHERE NOT granted AND relnamespace = '{}'::regnamespace",
            self.schema.name()
        );
        while self.schema.count(&waiting).await < steps {
            tokio::task::yield_now().await;
        }
    }
}

/// Waits ten seconds for `responses`, longer than a step waits for a lock.
#[expect(
    clippy::disallowed_methods,
    reason = "a broker that hangs is to fail its test"
)]
async fn in_time<T>(responses: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(10);
    tokio::time::timeout(limit, responses).await.unwrap()
}

const EVERYTHING: &str = "LOCK TABLE logins, grants, spent_trips IN ACCESS EXCLUSIVE MODE";

/// The broker has sixteen connections.
#[tokio::test]
async fn steps_that_wait_for_a_lock_or_a_connection_are_refused_in_time_and_have_not_happened() {
    let postgres = PostgresBroker::start().await;
    let broker = &postgres.broker;
    broker.sign_in(1).await.redirects_to(CALLBACK);
    let code = broker.code().await;
    let token = broker.access_token().await;
    let other = postgres.hold(EVERYTHING).await;
    let bodies: Vec<_> = (100..164).map(session_body).collect();
    let sessions = bodies
        .iter()
        .map(|body| broker.post("/v1/login/session", body));
    let (result, exchange, revocation, sessions) = in_time(async {
        tokio::join!(
            broker.result(1),
            broker.token(&code),
            broker.revoke(&token),
            join_all(sessions),
        )
    })
    .await;
    for response in [result, exchange, revocation].iter().chain(&sessions) {
        response.is_refusal(503);
    }
    other.batch_execute("COMMIT").await.unwrap();
    let logins = "SELECT count(*) FROM logins";
    assert_eq!(postgres.schema.count(logins).await, 1);
    broker.profile(&token).await.is_json(200, &adas_profile());
    broker.has_status(1, "succeeded").await;
    assert_eq!(broker.token(&code).await.status, 200);

    // Those that wait for less time take their turn.
    let other = postgres.hold(EVERYTHING).await;
    let all = join_all((100..164).map(|key| broker.session(key)));
    in_time(async {
        tokio::join!(all, async {
            postgres.wait_for_blocked(16).await;
            other.batch_execute("COMMIT").await.unwrap();
        })
    })
    .await;
    assert_eq!(postgres.schema.count(logins).await, 65);
}

/// The second statement of the step fails: the first has marked the result as consumed.
#[tokio::test]
async fn a_read_that_fails_between_its_statements_consumes_nothing() {
    let postgres = PostgresBroker::start().await;
    let broker = &postgres.broker;
    broker.sign_in(1).await.redirects_to(CALLBACK);
    let once = "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'the second statement fails'; END $$;
        CREATE TRIGGER fail BEFORE UPDATE OF profile ON logins EXECUTE FUNCTION fail()";
    postgres.schema.execute(once).await;
    broker.result(1).await.is_refusal(503);
    postgres.schema.execute("DROP TRIGGER fail ON logins").await;
    let profile = json!({ "status": "succeeded", "profile": adas_profile() });
    broker.result(1).await.is_json(200, &profile);
}

//! A PostgreSQL server that is there and does not get on: another session holds what
//! the steps need.

use std::time::Duration;

use broker::cookie_cipher::CookieKey;
use rocket::futures::future::join_all;
use serde_json::json;
use tokio_postgres::NoTls;

use super::world::{CALLBACK, World, adas_profile, session_body, sign_in};
use crate::storage::postgres::Schema;

/// A broker on a schema of its own.
struct Shared {
    world: World,
    schema: Schema,
}

/// A session of somebody else's, in a transaction.
struct Session(tokio_postgres::Client);

impl Session {
    async fn release(self) {
        self.0.batch_execute("COMMIT").await.unwrap();
    }
}

impl Shared {
    async fn start() -> Self {
        let schema = Schema::made().await;
        let url = schema.url().parse().unwrap();
        let world = World::start_with(|config| {
            config.store.url = url;
            config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
        })
        .await;
        let ready = world.get("/readyz").await;
        assert_eq!(ready.status, 200, "the tables are made");
        Self { world, schema }
    }

    /// Begins a transaction with this statement.
    async fn hold(&self, statement: &str) -> Session {
        let (client, connection) = tokio_postgres::connect(&self.schema.url(), NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        let begin = format!("BEGIN; {statement}");
        client.batch_execute(&begin).await.unwrap();
        Session(client)
    }

    /// Waits until so many steps wait for somebody else.
    async fn steps_wait(&self, steps: i64) {
        let waiting = format!(
            "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation
             WHERE NOT granted AND relnamespace = '{}'::regnamespace",
            self.schema.name()
        );
        while self.count(&waiting).await < steps {
            tokio::task::yield_now().await;
        }
    }

    async fn count(&self, select: &str) -> i64 {
        crate::storage::Engine::count(&self.schema, select).await
    }
}

/// Waits for answers, but not for as long as nothing that waits for a lock may.
#[expect(
    clippy::disallowed_methods,
    reason = "a broker that hangs is to fail its test"
)]
async fn in_time<T>(answers: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(10);
    tokio::time::timeout(limit, answers).await.unwrap()
}

const EVERYTHING: &str = "LOCK TABLE logins, grants, spent_trips IN ACCESS EXCLUSIVE MODE";

#[tokio::test]
async fn a_step_that_waits_for_a_lock_is_refused_in_time_and_has_not_happened() {
    let shared = Shared::start().await;
    let world = &shared.world;
    sign_in(world, 1).await.goes_to(CALLBACK);
    let code = world.code().await;
    let token = world.access_token().await;
    let other = shared.hold(EVERYTHING).await;
    let body = session_body(2);
    let (session, result, exchange, revocation) = in_time(async {
        tokio::join!(
            world.post("/v1/login/session", &body),
            world.result(1),
            world.token(&code),
            world.revoke(&token),
        )
    })
    .await;
    for answer in [session, result, exchange, revocation] {
        answer.is_refused(503);
    }
    other.release().await;
    world.profile(&token).await.is(200, &adas_profile());
    world.session(2).await;
    let profile = json!({ "status": "succeeded", "profile": adas_profile() });
    world.result(1).await.is(200, &profile);
    world.result(1).await.is_refused(400);
    assert_eq!(world.token(&code).await.status, 200);
}

/// The second statement of the step fails: the first has marked the result as consumed.
#[tokio::test]
async fn a_read_that_fails_between_its_statements_consumes_nothing() {
    let shared = Shared::start().await;
    let world = &shared.world;
    sign_in(world, 1).await.goes_to(CALLBACK);
    let once = "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'the second statement fails'; END $$;
        CREATE TRIGGER fail BEFORE UPDATE OF profile ON logins EXECUTE FUNCTION fail()";
    shared.schema.execute(once).await;
    world.result(1).await.is_refused(503);
    shared.schema.execute("DROP TRIGGER fail ON logins").await;
    let profile = json!({ "status": "succeeded", "profile": adas_profile() });
    world.result(1).await.is(200, &profile);
}

/// The broker has sixteen connections.
#[tokio::test]
async fn more_requests_than_connections_wait_for_their_turn() {
    let shared = Shared::start().await;
    let world = &shared.world;
    let other = shared.hold(EVERYTHING).await;
    let all = join_all((0..64).map(|key| world.session(key)));
    let (paths, ()) = in_time(async {
        tokio::join!(all, async {
            shared.steps_wait(16).await;
            other.release().await;
        })
    })
    .await;
    assert_eq!(paths.len(), 64);
    assert_eq!(shared.count("SELECT count(*) FROM logins").await, 64);
}

#[tokio::test]
async fn requests_that_find_every_connection_taken_are_refused_in_time() {
    let shared = Shared::start().await;
    let world = &shared.world;
    world.session(100).await;
    let other = shared.hold(EVERYTHING).await;
    let bodies: Vec<_> = (0..64).map(session_body).collect();
    let all = bodies
        .iter()
        .map(|body| world.post("/v1/login/session", body));
    for answer in in_time(join_all(all)).await {
        answer.is_refused(503);
    }
    other.release().await;
    assert_eq!(shared.count("SELECT count(*) FROM logins").await, 1);
    join_all((0..64).map(|key| world.session(key))).await;
}

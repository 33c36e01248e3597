//! PostgreSQL's tables while users come and leave at the store, with several settings of
//! its vacuum. The users' minutes pass faster than real ones, and so do the autovacuum's
//! naps.

use std::time::{Duration, Instant};

use tokio_postgres::Client;

use crate::cores::CoreChoice;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::servers::database::Database;
use crate::setup::Setup;
use crate::size::Size;
use crate::stats::{Rounds, us};
use crate::store::users::Minute;

/// The settings, by name; they apply to each table.
const SETTINGS: [(&str, &str); 3] = [
    ("defaults", ""),
    ("fillfactor 70", "fillfactor = 70"),
    (
        "fillfactor 70, scale factor 0.02",
        "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02",
    ),
];

/// A nap of the autovacuum: about a minute of the users.
const NAP: &str = "autovacuum_naptime=2";

/// The tables and what a database has used for them.
struct Figures {
    cpu_us: f64,
    time_us: f64,
    megabytes: f64,
    dead_rows: f64,
    hot_percent: f64,
    vacuums: f64,
}

/// The estimated seconds.
pub(super) fn estimate(size: &Size) -> f64 {
    (SETTINGS.len() * users(size) * size.minutes) as f64 / 1_350.0
}

/// A full size would take hours, and show the same.
fn users(size: &Size) -> usize {
    size.users_a_minute.min(3_000)
}

/// Measures the same minutes with each of the settings.
pub(super) async fn measure(setup: &Setup) -> Result<Vec<Row>, BenchError> {
    let database = Database::start(setup, CoreChoice::Anywhere, &[NAP])?;
    let mut rows = Vec::new();
    let mut defaults = None;
    for (number, (name, settings)) in SETTINGS.into_iter().enumerate() {
        setup
            .progress
            .at(number as f64 / SETTINGS.len() as f64, name);
        let figures = Figures::of(setup, &database, number, settings).await?;
        rows.extend(rows_of(name, &figures, defaults.as_ref()));
        defaults.get_or_insert(figures);
    }
    Ok(rows)
}

impl Figures {
    async fn of(
        setup: &Setup,
        database: &Database,
        number: usize,
        settings: &str,
    ) -> Result<Self, BenchError> {
        let name = format!("vacuum_{number}");
        database.create(&name).await?;
        let store = crate::store::at(&database.url(&name)).await?;
        let client = database.client(&name).await?;
        if !settings.is_empty() {
            for table in ["logins", "spent_trips", "grants"] {
                let alter = format!("ALTER TABLE {table} SET ({settings})");
                client.batch_execute(&alter).await?;
            }
        }
        let (minutes, users) = (setup.size.minutes, users(&setup.size));
        let (began, cpu) = (now(), database.cpu()?);
        for number in 0..minutes {
            Minute::numbered(number, users).pass(&*store).await?;
        }
        let each = |spent: Duration| us(spent) / (minutes * users) as f64;
        let (time_us, cpu_us) = (each(now() - began), each(database.cpu()? - cpu));
        drop(store);
        database.wait_for_statistics().await?;
        Self::read(&client, time_us, cpu_us).await
    }

    async fn read(client: &Client, time_us: f64, cpu_us: f64) -> Result<Self, BenchError> {
        let row = client
            .query_one(
                "SELECT sum(pg_total_relation_size(relid))::float8 / 1e6,
                        sum(n_dead_tup)::float8,
                        100 * sum(n_tup_hot_upd)::float8 / greatest(sum(n_tup_upd), 1)::float8,
                        sum(autovacuum_count)::float8
                 FROM pg_stat_user_tables WHERE relname IN ('logins', 'spent_trips')",
                &[],
            )
            .await?;
        Ok(Self {
            cpu_us,
            time_us,
            megabytes: row.get(0),
            dead_rows: row.get(1),
            hot_percent: row.get(2),
            vacuums: row.get(3),
        })
    }
}

fn rows_of(name: &str, figures: &Figures, defaults: Option<&Figures>) -> Vec<Row> {
    let row = |what: &str, unit, of: fn(&Figures) -> f64| {
        let what = format!("PostgreSQL's tables, {name}: {what}");
        let row = Row::new(what, unit, Rounds::once(of(figures)));
        match defaults {
            Some(defaults) => row.beside("defaults", Rounds::once(of(defaults))),
            None => row,
        }
    };
    vec![
        row("CPU of a login, PostgreSQL", Unit::Microseconds, |it| {
            it.cpu_us
        }),
        row(
            "time of a login, of all at once",
            Unit::Microseconds,
            |it| it.time_us,
        ),
        row("tables with their indexes", Unit::Megabytes, |it| {
            it.megabytes
        }),
        row("dead rows at the end", Unit::Count, |it| it.dead_rows),
        row("updates without a new index entry", Unit::Percent, |it| {
            it.hot_percent
        }),
        row("autovacuums", Unit::Count, |it| it.vacuums),
    ]
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
fn now() -> Instant {
    Instant::now()
}

//! The rows of a database beside the model: what is stored, as lines of text.

use checker::model::{Login, Model, Progress, Project, Purpose, UpstreamLogin};
use rusqlite::{Connection, OpenFlags};
use tokio_postgres::NoTls;

use super::script::TimedModel;
use crate::RunError;
use crate::client::{CLIENT_ID, OTHER_ID};
use crate::cluster::Cluster;

/// The time beyond its end for which a consumed upstream login is remembered, because the
/// clock of another broker may be behind.
const REMEMBERED_MS: i64 = 60_000;

/// A connection of its own to the database of a cluster.
pub(crate) enum Rows {
    Sqlite(Connection),
    Postgres(tokio_postgres::Client),
}

/// Every row that a rule can still see at `$1`, one line each. A profile whose end has come
/// may be erased or not.
const ROWS: &str = include_str!("rows.sql");

impl Rows {
    /// Those of a cluster.
    pub(crate) async fn of(cluster: &Cluster) -> Result<Self, RunError> {
        let Some(file) = cluster.database_file() else {
            let (client, connection) =
                tokio_postgres::connect(&cluster.database_url(), NoTls).await?;
            tokio::spawn(connection);
            return Ok(Self::Postgres(client));
        };
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        Ok(Self::Sqlite(connection))
    }

    /// The lines of the rows that are known at `now_ms`, by the brokers' clock, in order.
    pub(crate) async fn at(&self, now_ms: i64) -> Result<Vec<String>, RunError> {
        let mut lines = match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(ROWS)?;
                let lines = statement.query_map([now_ms], |row| row.get(0))?;
                lines.collect::<Result<Vec<String>, _>>()?
            }
            Self::Postgres(client) => {
                let statement = client.prepare(ROWS).await?;
                let rows = client.query(&statement, &[&now_ms]).await?;
                rows.iter().map(|row| row.get(0)).collect()
            }
        };
        lines.sort();
        Ok(lines)
    }
}

/// The lines that the model has at its time, in order.
pub(crate) fn expected(timed: &TimedModel) -> Vec<String> {
    let TimedModel { model, now_ms } = timed;
    let is_before = |end_ms: i64| *now_ms < end_ms;
    let mut lines: Vec<_> = model
        .logins
        .keys()
        .filter_map(|login| model.current(*login))
        .filter(|it| is_before(it.known_until().earliest_ms))
        .map(|it| of_login(it, is_before(it.ends().earliest_ms)))
        .collect();
    let upstream_logins = model.upstream_logins.iter();
    for (number, it) in upstream_logins {
        if it.is_consumed && is_before(it.ends.earliest_ms + REMEMBERED_MS) {
            lines.push("consumed upstream login".to_owned());
        }
        lines.extend(of_grant(model, *number, it, is_before));
    }
    lines.sort();
    lines
}

fn of_login(login: &Login, has_profile: bool) -> String {
    let (stage, more) = match login.progress {
        Progress::Pending if login.bound_to.is_some() => ("pending", ", bound"),
        Progress::Pending => ("pending", ""),
        Progress::Completed(Ok(_)) if has_profile => ("settled", ", profile"),
        Progress::Completed(Ok(_)) => ("settled", ""),
        Progress::Completed(Err(failure)) => {
            return format!(
                "login of {}: settled, {}",
                id(login.project),
                failure.name()
            );
        }
        Progress::Consumed => ("consumed", ""),
    };
    format!("login of {}: {stage}{more}", id(login.project))
}

fn of_grant(
    model: &Model,
    number: u8,
    upstream_login: &UpstreamLogin,
    is_before: impl Fn(i64) -> bool,
) -> Option<String> {
    let Purpose::Legacy { project, .. } = upstream_login.purpose else {
        return None;
    };
    let code = model.code(number)?;
    let (what, ends, is_ended) = match &code.token {
        Some(token) => ("token", token.ends(), token.is_ended),
        None => ("code", code.ends(), false),
    };
    let profile = if is_ended { "" } else { ", profile" };
    is_before(ends.earliest_ms).then(|| format!("{what} of {}{profile}", id(project)))
}

fn id(project: Project) -> &'static str {
    match project {
        Project::A => CLIENT_ID,
        Project::B => OTHER_ID,
    }
}

//! The statements, once for both engines.
//!
//! Parameters are numbered in the order in which they first appear: PostgreSQL
//! counts them, and SQLite names them so. A step is decided by the row that its
//! `RETURNING` returns or by the number of rows it changed, never by a `SELECT`
//! before it.

/// The tables; `BYTES` stands for the engine's type of a digest.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// The version of [`SCHEMA`].
pub(super) const SCHEMA_VERSION: i64 = 1;

pub(super) const OPEN: &str = "
    INSERT INTO logins (key_digest, handle_digest, login, project, redirect_uri,
                        provider, stage, ends_ms, known_until_ms)
    VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8)
    ON CONFLICT (key_digest) DO UPDATE SET
        handle_digest = excluded.handle_digest, login = excluded.login,
        project = excluded.project, redirect_uri = excluded.redirect_uri,
        provider = excluded.provider, browser = NULL, stage = 'pending',
        profile = NULL, error = NULL,
        ends_ms = excluded.ends_ms, known_until_ms = excluded.known_until_ms
    WHERE logins.ends_ms <= $9";

pub(super) const FIND: &str =
    "SELECT * FROM logins WHERE handle_digest = $1 AND $2 < known_until_ms";

pub(super) const BIND_BROWSER: &str = "
    UPDATE logins SET browser = $1
    WHERE handle_digest = $2 AND stage = 'pending' AND $3 < ends_ms
      AND (browser IS NULL OR browser = $1)";

pub(super) const CONSUME_UPSTREAM_LOGIN: &str = "
    INSERT INTO spent_trips (trip, known_until_ms) VALUES ($1, $2)
    ON CONFLICT (trip) DO NOTHING";

pub(super) const COMPLETE: &str = "
    UPDATE logins SET stage = 'settled', profile = $1, error = $2
    WHERE handle_digest = $3 AND stage = 'pending' AND $4 < ends_ms";

/// [`COMPLETE`] by the browser that may have the login, bound or not.
pub(super) const CANCEL: &str = "
    UPDATE logins SET stage = 'settled', error = $1
    WHERE handle_digest = $2 AND stage = 'pending' AND $3 < ends_ms
      AND (browser IS NULL OR browser = $4)";

/// The condition on which a result is read, and consumed.
macro_rules! result_is_ready {
    () => {
        "key_digest = $1 AND project = $2 AND redirect_uri = $3
      AND stage = 'settled' AND $4 < ends_ms
      AND coalesce(profile, error) IS NOT NULL"
    };
}

pub(super) const CONSUME_RESULT: &str = concat!(
    "UPDATE logins SET stage = 'consumed' WHERE ",
    result_is_ready!(),
    " RETURNING profile, error"
);

/// Runs after [`CONSUME_RESULT`], whose `RETURNING` shows the row after the change.
pub(super) const ERASE_CONSUMED: &str = "UPDATE logins SET profile = NULL WHERE key_digest = $1";

/// Both in one statement, which SQLite's `RETURNING` does not allow. `FOR UPDATE` waits for
/// another that consumes the result, and then finds it consumed.
pub(super) const CONSUME_AND_ERASE_RESULT: &str = concat!(
    "WITH result AS (
        SELECT key_digest, profile, error FROM logins WHERE ",
    result_is_ready!(),
    " FOR UPDATE)
    UPDATE logins SET stage = 'consumed', profile = NULL FROM result
    WHERE logins.key_digest = result.key_digest
    RETURNING result.profile, result.error"
);

pub(super) const FIND_BY_KEY: &str =
    "SELECT * FROM logins WHERE key_digest = $1 AND $2 < known_until_ms";

pub(super) const ISSUE: &str = "
    INSERT INTO grants (code_digest, login, project, callback, challenge, profile,
                        code_ends_ms, known_until_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

pub(super) const REDEEM: &str = "
    UPDATE grants SET token_digest = $1, token_ends_ms = $2, known_until_ms = $3
    WHERE code_digest = $4 AND project = $5 AND callback = $6 AND challenge = $7
      AND token_digest IS NULL AND $8 < code_ends_ms AND profile IS NOT NULL
    RETURNING login";

/// A second redemption that is otherwise valid: the code was stolen, or the client
/// retried. Either way the token must end.
pub(super) const END_REPLAYED: &str = "
    UPDATE grants SET profile = NULL
    WHERE code_digest = $1 AND project = $2 AND callback = $3 AND challenge = $4
      AND $5 < token_ends_ms AND profile IS NOT NULL
    RETURNING login";

pub(super) const FIND_GRANT: &str = "
    SELECT * FROM grants
    WHERE code_digest = $1 AND $2 < coalesce(token_ends_ms, known_until_ms)";

pub(super) const FIND_TOKEN: &str =
    "SELECT * FROM grants WHERE token_digest = $1 AND $2 < known_until_ms";

pub(super) const REVOKE: &str = "
    UPDATE grants SET profile = NULL
    WHERE token_digest = $1 AND $2 < token_ends_ms AND profile IS NOT NULL
    RETURNING login";

/// Runs after a [`REVOKE`] that ended nothing: what has expired need not wait for a sweep. A token
/// that is forgotten has no login.
pub(super) const ERASE_ENDED: &str = "
    UPDATE grants SET profile = NULL WHERE token_digest = $1 AND $2 < known_until_ms
    RETURNING login";

/// The most rows that each statement of a sweep touches, so that a sweep never delays
/// the steps behind it for long.
pub(super) const SWEEP_ROWS: i64 = 500;

/// Each statement repeats its condition outside the selection: a row that was
/// replaced between the two must stay.
pub(super) const SWEEP: [&str; 5] = [
    "DELETE FROM logins WHERE known_until_ms <= $1 AND key_digest IN
         (SELECT key_digest FROM logins WHERE known_until_ms <= $1 LIMIT $2)",
    "DELETE FROM spent_trips WHERE known_until_ms <= $1 AND trip IN
         (SELECT trip FROM spent_trips WHERE known_until_ms <= $1 LIMIT $2)",
    "DELETE FROM grants WHERE known_until_ms <= $1 AND code_digest IN
         (SELECT code_digest FROM grants WHERE known_until_ms <= $1 LIMIT $2)",
    "UPDATE logins SET profile = NULL WHERE ends_ms <= $1 AND key_digest IN
         (SELECT key_digest FROM logins WHERE profile IS NOT NULL AND ends_ms <= $1 LIMIT $2)",
    "UPDATE grants SET profile = NULL
     WHERE coalesce(token_ends_ms, code_ends_ms) <= $1 AND code_digest IN
         (SELECT code_digest FROM grants
          WHERE profile IS NOT NULL AND coalesce(token_ends_ms, code_ends_ms) <= $1 LIMIT $2)",
];

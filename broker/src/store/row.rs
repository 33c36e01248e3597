//! Rows, once for both engines: what runs a statement, and how a row that it returns is read into the
//! types of the model.

use std::str::FromStr;

use contract::{Digest, LoginError, Profile};

use crate::model::grant::{Grant, Token};
use crate::model::login_session::{BrowserBinding, LoginOutcome, LoginSession, SessionStatus};
use crate::model::{LoginId, UnixMs};

/// A connection, or a transaction on one.
pub(super) trait Executor {
    type Error;

    /// Runs a statement and returns the number of rows it changed.
    async fn change(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, Self::Error>;

    /// Runs a statement and reads the one row that it returns, if it returns one.
    async fn one<T>(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
        read: fn(&dyn Columns) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, Self::Error>;

    /// Consumes the outcome of a login and erases its profile, which is the result. The
    /// parameters are those of [`CONSUME_RESULT`](super::sql::CONSUME_RESULT).
    async fn consume_result(
        &self,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<LoginOutcome>, Self::Error>;

    /// Whether no other broker sweeps while this transaction lasts.
    async fn may_sweep(&self) -> Result<bool, Self::Error> {
        Ok(true)
    }
}

/// A parameter of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parameter<'a> {
    Text(&'a str),
    NullableText(Option<&'a str>),
    Bytes(&'a [u8]),
    Integer(i64),
}

impl<'a> From<&'a str> for Parameter<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<Option<&'a str>> for Parameter<'a> {
    fn from(text: Option<&'a str>) -> Self {
        Self::NullableText(text)
    }
}

impl<'a> From<&'a Digest> for Parameter<'a> {
    fn from(digest: &'a Digest) -> Self {
        Self::Bytes(digest.as_bytes())
    }
}

impl From<UnixMs> for Parameter<'_> {
    fn from(time: UnixMs) -> Self {
        Self::Integer(time.0)
    }
}

impl From<i64> for Parameter<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

/// The parameters of a statement, in its order.
macro_rules! parameters {
    ($($value:expr),* $(,)?) => {
        &[$($crate::store::row::Parameter::from($value)),*]
    };
}
pub(super) use parameters;

/// The columns of a row by their names. `None` is NULL.
pub(super) trait Columns {
    fn text(&self, column: &'static str) -> Result<Option<String>, Unreadable>;
    fn digest(&self, column: &'static str) -> Result<Option<Digest>, Unreadable>;
    fn time(&self, column: &'static str) -> Result<Option<UnixMs>, Unreadable>;
}

/// A column contains a value that no version of this program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the column {0} holds what this program does not write")]
pub(super) struct Unreadable(pub(super) &'static str);

/// A profile as the JSON of its column.
pub(super) fn profile_text(profile: &Profile) -> String {
    serde_json::to_string(profile).expect("a profile is plain data")
}

/// An outcome as the two columns `profile` and `error`.
pub(super) fn outcome_columns(outcome: &LoginOutcome) -> (Option<String>, Option<&'static str>) {
    match outcome {
        LoginOutcome::Succeeded(profile) => (Some(profile_text(profile)), None),
        LoginOutcome::Failed(error) => (None, Some(error.as_str())),
    }
}

pub(super) fn login(row: &dyn Columns) -> Result<LoginId, Unreadable> {
    required(row.text("login"), "login").map(LoginId::kept)
}

pub(super) fn login_session(row: &dyn Columns) -> Result<LoginSession, Unreadable> {
    Ok(LoginSession {
        login: login(row)?,
        project: parsed(row, "project")?,
        redirect_uri: parsed(row, "redirect_uri")?,
        provider: parsed(row, "provider")?,
        ends: required(row.time("ends_ms"), "ends_ms")?,
        known_until: required(row.time("known_until_ms"), "known_until_ms")?,
        status: status(row)?,
    })
}

fn status(row: &dyn Columns) -> Result<SessionStatus, Unreadable> {
    match required(row.text("stage"), "stage")?.as_str() {
        "pending" => Ok(match row.digest("browser")? {
            None => SessionStatus::Unbound,
            Some(browser) => SessionStatus::Bound(BrowserBinding(browser)),
        }),
        "settled" if has_outcome(row)? => Ok(SessionStatus::Completed),
        "settled" => Ok(SessionStatus::Erased),
        "consumed" => Ok(SessionStatus::Consumed),
        _ => Err(Unreadable("stage")),
    }
}

fn has_outcome(row: &dyn Columns) -> Result<bool, Unreadable> {
    Ok(row.text("profile")?.is_some() || row.text("error")?.is_some())
}

pub(super) fn outcome(row: &dyn Columns) -> Result<LoginOutcome, Unreadable> {
    match profile(row)? {
        Some(profile) => Ok(LoginOutcome::Succeeded(profile)),
        None => error(row).map(LoginOutcome::Failed),
    }
}

fn profile(row: &dyn Columns) -> Result<Option<Profile>, Unreadable> {
    let read = |text: String| serde_json::from_str(&text).map_err(|_| Unreadable("profile"));
    row.text("profile")?.map(read).transpose()
}

fn error(row: &dyn Columns) -> Result<LoginError, Unreadable> {
    let word = required(row.text("error"), "error")?;
    LoginError::ALL
        .into_iter()
        .find(|error| error.as_str() == word)
        .ok_or(Unreadable("error"))
}

pub(super) fn grant(row: &dyn Columns) -> Result<Grant, Unreadable> {
    Ok(Grant {
        login: login(row)?,
        project: parsed(row, "project")?,
        callback: required(row.digest("callback"), "callback")?,
        challenge: parsed(row, "challenge")?,
        is_redeemed: row.digest("token_digest")?.is_some(),
    })
}

pub(super) fn token(row: &dyn Columns) -> Result<Token, Unreadable> {
    Ok(Token {
        login: login(row)?,
        project: parsed(row, "project")?,
        profile: profile(row)?,
        ends: required(row.time("token_ends_ms"), "token_ends_ms")?,
    })
}

fn parsed<T: FromStr>(row: &dyn Columns, column: &'static str) -> Result<T, Unreadable> {
    required(row.text(column), column)?
        .parse()
        .map_err(|_| Unreadable(column))
}

fn required<T>(
    value: Result<Option<T>, Unreadable>,
    column: &'static str,
) -> Result<T, Unreadable> {
    value?.ok_or(Unreadable(column))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stored(&'static str);

    impl Columns for Stored {
        fn text(&self, column: &'static str) -> Result<Option<String>, Unreadable> {
            Ok((column == "profile").then(|| self.0.to_owned()))
        }

        fn digest(&self, _: &'static str) -> Result<Option<Digest>, Unreadable> {
            Ok(None)
        }

        fn time(&self, _: &'static str) -> Result<Option<UnixMs>, Unreadable> {
            Ok(None)
        }
    }

    /// A row outlives the version of the broker that wrote it: a field that is added needs a
    /// default when it is read from the store.
    #[test]
    fn a_profile_that_version_0_1_0_stored_is_read() {
        let stored = Stored(
            r#"{"subject":"sub_x","provider":"github","providerSubject":"1","name":null,"username":"ada","email":null,"emailVerified":false,"avatarUrl":null}"#,
        );
        let read = profile(&stored).unwrap().expect("a profile");
        assert_eq!(read.username.as_deref(), Some("ada"));
    }
}

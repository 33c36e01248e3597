//! The part of an engine that the steps need: it runs one statement.

use contract::Digest;

use super::row::{Columns, Unreadable};
use crate::model::UnixMs;

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

    /// Reports that the step has read its row and decided, if the engine does not
    /// report that itself.
    fn decided(&self) {}

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
        &[$($crate::store::executor::Parameter::from($value)),*]
    };
}
pub(super) use parameters;

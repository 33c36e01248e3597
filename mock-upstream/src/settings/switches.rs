//! The two settings of a provider that can change while it runs.

use std::str::FromStr;

/// The way in which a sign-in is answered while the queue is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A page lets the browser's user choose an account. A queued entry is still used
    /// first, without the page, so that tests can script an interactive stack too.
    Interactive,
    /// The default user signs in, without a page.
    Automatic,
}

/// The callbacks that carry `iss` (RFC 9207). Both providers rolled it out and back in
/// 2026.
///
/// Metadata announces `iss` under [`Iss::Errors`] alone: only then does every callback
/// carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iss {
    /// Every success.
    On,
    /// None.
    Off,
    /// Every success and every error.
    Errors,
}

/// A value that the setting does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("valid: {0}")]
pub struct UnknownValue(&'static str);

impl Mode {
    /// The name that it is parsed from: `interactive`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Automatic => "automatic",
        }
    }
}

impl Iss {
    /// The name that it is parsed from: `errors`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Errors => "errors",
        }
    }
}

impl FromStr for Mode {
    type Err = UnknownValue;

    fn from_str(value: &str) -> Result<Self, UnknownValue> {
        let mut all = [Self::Interactive, Self::Automatic].into_iter();
        let known = all.find(|it| it.name() == value);
        known.ok_or(UnknownValue("`interactive`, `automatic`"))
    }
}

impl FromStr for Iss {
    type Err = UnknownValue;

    fn from_str(value: &str) -> Result<Self, UnknownValue> {
        let mut all = [Self::On, Self::Off, Self::Errors].into_iter();
        let known = all.find(|it| it.name() == value);
        known.ok_or(UnknownValue("`on`, `off`, `errors`"))
    }
}

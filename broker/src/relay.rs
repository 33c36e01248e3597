//! The relay guard, which decides whether a visit of an authorization URL goes to the
//! provider at once or sees the confirmation page first.
//!
//! The clean callback carries nothing, so an attacker who starts a login can send its
//! authorization URL to a victim and collect the profile that the victim signs in with.
//! But the victim's own browser reports the page that the visit began on, and the
//! attacker cannot change that. A visit is *vouched for* when it began on a page of the
//! project. At the provider's callback, [`BrowserTraits`] tell whether the browser is the
//! one that began, or only holds its cookie.

mod browser_traits;

use contract::Origin;
use serde::Deserialize;

pub use browser_traits::{BrowserTraits, SameTraits};

/// The visits of a project's logins that see the confirmation page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayGuard {
    /// The visits that are not vouched for.
    #[default]
    Auto,
    /// Every visit.
    Always,
    /// None.
    Off,
}

/// The visits of a project's logins for which the provider shows its account picker.
/// Only in the clean flow: the state of the legacy one protects it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectAccount {
    /// Every visit.
    #[default]
    Always,
    /// The visits that are not vouched for.
    Unvouched,
}

impl RelayGuard {
    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Off => "off",
        }
    }
}

impl SelectAccount {
    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Unvouched => "unvouched",
        }
    }

    /// Whether the picker is shown for a visit of this provenance.
    pub fn is_for(self, provenance: Provenance) -> bool {
        self == SelectAccount::Always || provenance != Provenance::Vouched
    }
}

/// The headers that a browser sends about the start of a navigation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The `Sec-Fetch-*` headers, if a browser sent them.
    pub fetch: Option<Fetch>,
    /// The page that the browser came from.
    pub referrer: Referrer,
}

/// `Sec-Fetch-Site`, `-Mode` and `-Dest`, if each came once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetch {
    /// The relation of this site to the one that the navigation began on.
    pub site: Option<String>,
    /// The kind of request.
    pub mode: Option<String>,
    /// The use of the answer.
    pub dest: Option<String>,
}

/// The `Referer` of a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Referrer {
    /// There is none.
    Absent,
    /// A page of this origin.
    Page(String),
    /// A value that no browser sends.
    Unreadable,
}

/// The start of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// On a page of the project.
    Vouched,
    /// On another page.
    Foreign,
    /// On a page whose browser sends no `Referer`.
    NoReferrer,
    /// On no page: the address was typed, pasted, or opened by another program.
    Typed,
    /// In a part of a page: a picture, a frame, a script.
    Embedded,
    /// Unknown: the client sends no fetch metadata, and may not be a browser.
    NoMetadata,
}

impl Provenance {
    /// Its name in the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Provenance::Vouched => "vouched",
            Provenance::Foreign => "foreign",
            Provenance::NoReferrer => "no_referrer",
            Provenance::Typed => "typed",
            Provenance::Embedded => "embedded",
            Provenance::NoMetadata => "no_metadata",
        }
    }

    /// Whether a browser reports that the visit did not begin on a page of the project.
    pub fn is_elsewhere(self) -> bool {
        !matches!(self, Provenance::Vouched | Provenance::NoMetadata)
    }
}

impl Visit {
    /// The provenance, for a project whose sign-ins start on `start_origins`.
    pub fn provenance(&self, start_origins: &[Origin]) -> Provenance {
        let is = |value: &Option<String>, expected| value.as_deref() == Some(expected);
        match &self.fetch {
            None => match self.began_on(start_origins) {
                Some(false) => Provenance::Foreign,
                // Any client can send a Referer; a browser sends the metadata with it.
                Some(true) | None => Provenance::NoMetadata,
            },
            Some(fetch) if !(is(&fetch.mode, "navigate") && is(&fetch.dest, "document")) => {
                Provenance::Embedded
            }
            Some(fetch) if fetch.site.is_none() => Provenance::NoMetadata,
            Some(fetch) if is(&fetch.site, "none") => Provenance::Typed,
            Some(_) => match self.began_on(start_origins) {
                None => Provenance::NoReferrer,
                Some(true) => Provenance::Vouched,
                Some(false) => Provenance::Foreign,
            },
        }
    }

    /// Whether the client is not a browser, and comes from no page but the project's or
    /// ours: curl, or a test.
    pub fn is_plain(&self, start_origins: &[Origin], ours: &Origin) -> bool {
        let began_with_us = self.began_on(std::slice::from_ref(ours)) == Some(true);
        self.fetch.is_none() && (began_with_us || self.began_on(start_origins) != Some(false))
    }

    /// Whether the visit began on a page of `origins`; `None` without a `Referer`.
    fn began_on(&self, origins: &[Origin]) -> Option<bool> {
        match &self.referrer {
            Referrer::Absent => None,
            Referrer::Page(page) => Some(origins.iter().any(|origin| origin.as_str() == page)),
            Referrer::Unreadable => Some(false),
        }
    }
}

/// The decision on a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayDecision {
    /// Bind the login to the browser, and redirect to the provider.
    Bind,
    /// Redirect to the provider without binding.
    PassUnbound,
    /// Show the confirmation page.
    Confirm,
}

impl RelayGuard {
    /// Decides on a visit of this provenance. `is_local_client` marks a plain client of a
    /// broker whose consumers and providers are all on this machine.
    pub fn decide(self, provenance: Provenance, is_local_client: bool) -> RelayDecision {
        match (self, provenance) {
            (RelayGuard::Always, _) => RelayDecision::Confirm,
            _ if is_local_client => RelayDecision::PassUnbound,
            (RelayGuard::Off, _) | (RelayGuard::Auto, Provenance::Vouched) => RelayDecision::Bind,
            (RelayGuard::Auto, _) => RelayDecision::Confirm,
        }
    }
}

//! The relay guard: which visits of an authorization URL are sent on at once, and
//! which see a page that asks first.
//!
//! The clean callback carries nothing, so whoever starts a login can send its
//! authorization URL to somebody else and collect what that person signs in. Where
//! a visit began is told by the visitor's own browser, which the sender has no
//! hold on. A visit is *vouched for* when it began on a page of the project.

use contract::Origin;
use serde::Deserialize;

/// When a project's visitors are asked whether they started the sign-in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayGuard {
    /// Unless the visit is vouched for.
    #[default]
    Auto,
    /// At every sign-in.
    Always,
    /// Never.
    Off,
}

/// At which visits a project has the provider show its account picker. Only in the
/// clean flow: the state of the legacy one protects it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectAccount {
    /// At all of them.
    #[default]
    Always,
    /// At those that are not vouched for.
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

    /// Whether it is shown at a visit of this provenance.
    pub fn is_for(self, provenance: Provenance) -> bool {
        self == SelectAccount::Always || provenance != Provenance::Vouched
    }
}

/// What a visitor's browser tells of its own accord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The `Sec-Fetch-*` headers, if a browser sent them.
    pub fetch: Option<Fetch>,
    /// The page that sent it here.
    pub came_from: CameFrom,
}

/// `Sec-Fetch-Site`, `-Mode` and `-Dest`, as far as each came once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetch {
    /// How this site is related to the one that the navigation began on.
    pub site: Option<String>,
    /// What kind of request it is.
    pub mode: Option<String>,
    /// What its answer is for.
    pub dest: Option<String>,
}

/// What `Referer` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CameFrom {
    /// Nothing.
    Nowhere,
    /// A page of this origin.
    Page(String),
    /// Something that no page can have said.
    Unreadable,
}

/// Where a visit began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// On a page of the project.
    Vouched,
    /// On a page of somebody else.
    Foreign,
    /// On a page that does not say which it is.
    NoReferrer,
    /// On no page: the address was typed, pasted, or opened by another program.
    Typed,
    /// In a part of a page: a picture, a frame, a script.
    Embedded,
    /// The client tells nothing; it may be no browser.
    NoMetadata,
}

impl Provenance {
    /// Its name in the audit.
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

    /// Whether a browser was sent here by something else than the project's pages,
    /// as far as it tells.
    pub fn is_elsewhere(self) -> bool {
        !matches!(self, Provenance::Vouched | Provenance::NoMetadata)
    }
}

impl Visit {
    /// Where it began, for a project whose sign-ins start on `start_origins`.
    pub fn provenance(&self, start_origins: &[Origin]) -> Provenance {
        let told = |value: &Option<String>, expected| value.as_deref() == Some(expected);
        match &self.fetch {
            None => match self.began_on(start_origins) {
                Some(false) => Provenance::Foreign,
                // Anybody can write a Referer; only a browser says the rest with it.
                Some(true) | None => Provenance::NoMetadata,
            },
            Some(fetch) if !(told(&fetch.mode, "navigate") && told(&fetch.dest, "document")) => {
                Provenance::Embedded
            }
            Some(fetch) if fetch.site.is_none() => Provenance::NoMetadata,
            Some(fetch) if told(&fetch.site, "none") => Provenance::Typed,
            Some(_) => match self.began_on(start_origins) {
                None => Provenance::NoReferrer,
                Some(true) => Provenance::Vouched,
                Some(false) => Provenance::Foreign,
            },
        }
    }

    /// Whether this is a client that is no browser and comes from no page but the
    /// project's or ours: curl, or a test.
    pub fn is_plain(&self, start_origins: &[Origin], ours: &Origin) -> bool {
        let began_with_us = self.began_on(std::slice::from_ref(ours)) == Some(true);
        self.fetch.is_none() && (began_with_us || self.began_on(start_origins) != Some(false))
    }

    /// Whether it began on a page of `origins`; nothing, if no page is named.
    fn began_on(&self, origins: &[Origin]) -> Option<bool> {
        match &self.came_from {
            CameFrom::Nowhere => None,
            CameFrom::Page(page) => Some(origins.iter().any(|origin| origin.as_str() == page)),
            CameFrom::Unreadable => Some(false),
        }
    }
}

/// What a visit gets whose login nobody has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayDecision {
    /// The claim, and the way to the provider.
    Bind,
    /// The way to the provider alone.
    PassUnbound,
    /// The page that asks.
    Ask,
}

impl RelayGuard {
    /// What a visit of this provenance gets. `is_local_client` says that it is a
    /// plain client on a machine where everything is local.
    pub fn passage(self, provenance: Provenance, is_local_client: bool) -> RelayDecision {
        match (self, provenance) {
            (RelayGuard::Always, _) => RelayDecision::Ask,
            _ if is_local_client => RelayDecision::PassUnbound,
            (RelayGuard::Off, _) | (RelayGuard::Auto, Provenance::Vouched) => RelayDecision::Bind,
            (RelayGuard::Auto, _) => RelayDecision::Ask,
        }
    }
}

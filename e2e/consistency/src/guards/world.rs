//! The state of the model: what has happened, and which browser or attacker has which secret.

use std::fmt;

use strum::{Display, VariantArray};

use super::guard::{Guard, Guards};

/// A user, and the browser of that user. Mallory, the attacker, has an account of her own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display)]
pub enum User {
    Ada,
    Mallory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display)]
#[strum(serialize_all = "lowercase")]
pub enum Flow {
    Clean,
    Legacy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
#[strum(serialize_all = "lowercase")]
pub enum Provider {
    Honest,
    Hostile,
}

/// The number of the login that Ada starts.
pub(super) const ADAS: usize = 0;
/// That of the login that Mallory starts, in her own browser or by her own backend.
pub(super) const MALLORYS: usize = 1;
/// That of the login that Mallory's page starts in Ada's browser.
pub(super) const POSTED: usize = 2;

/// The number of the upstream login of this user's browser for a login, or of the handoff code
/// that the user gets for it; or of the provider's code that the user gets for an upstream login.
pub(super) fn number(of: usize, user: User) -> usize {
    of * 2 + user as usize
}

/// The user in such a number.
pub(super) fn user_of(number: usize) -> User {
    [User::Ada, User::Mallory][number % 2]
}

/// Secrets and facts of one kind have numbers: those of a login, upstream login, code or
/// session cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    Handle,
    State,
    Challenge,
    /// The state for the provider.
    #[strum(to_string = "state")]
    UpstreamState,
    /// The challenge and the nonce for the provider.
    #[strum(to_string = "challenge and nonce")]
    Proof,
    #[strum(to_string = "code")]
    ProviderCode,
    Code,
    SessionCookie,
    LoginCookie,
    UpstreamCookie,
    /// The app holds the key or the transaction of the login.
    Held,
    /// The transaction was looked for by its state.
    Answered,
    /// The login session belongs to a browser.
    Bound,
    /// The provider of the login is in Mallory's hands.
    Hostile,
    Consumed,
    /// The provider has issued the code.
    Issued,
    /// The callback of the upstream login is on Mallory's site.
    ToMallory,
    Exchanged,
    Redeemed,
    /// The code was sent to Mallory's site.
    SentToMallory,
}

/// The words for a secret of this kind, or for one that Mallory makes up.
fn name(kind: Kind, number: Option<usize>) -> String {
    let login = |it: usize| ["Ada's login", "Mallory's login", "the posted login"][it];
    let upstream = |it: usize| format!("{} in {}'s browser", login(it / 2), user_of(it));
    match (kind, number) {
        (_, None) => format!("no valid {kind}"),
        (Kind::UpstreamState | Kind::Proof, Some(it)) => format!("the {kind} of {}", upstream(it)),
        (Kind::ProviderCode, Some(it)) => {
            format!("{}'s code for {}", user_of(it), upstream(it / 2))
        }
        (Kind::Code, Some(it)) => format!("{}'s code for {}", user_of(it), login(it / 2)),
        (_, Some(it)) => format!("the {kind} of {}", login(it)),
    }
}

/// A set of secrets or facts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Set([u16; 20]);

impl Set {
    pub(super) fn has(self, kind: Kind, number: usize) -> bool {
        self.0[kind as usize] >> number & 1 == 1
    }

    pub(super) fn add(&mut self, kind: Kind, number: usize) {
        self.0[kind as usize] |= 1 << number;
    }

    /// Adds an element. Returns whether it is new.
    pub(super) fn insert(&mut self, kind: Kind, number: usize) -> bool {
        let is_new = !self.has(kind, number);
        self.add(kind, number);
        is_new
    }

    pub(super) fn remove(&mut self, kind: Kind, number: usize) {
        self.0[kind as usize] &= !(1 << number);
    }

    pub(super) fn clear(&mut self, kind: Kind) {
        self.0[kind as usize] = 0;
    }

    /// The set without the secrets that addresses carry.
    pub(super) fn cookies(mut self) -> Self {
        self.0[..Kind::SessionCookie as usize].fill(0);
        self
    }

    pub(super) fn of(self, kind: Kind) -> impl DoubleEndedIterator<Item = usize> {
        (0..16).filter(move |number| self.has(kind, *number))
    }
}

/// A page that can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display, VariantArray)]
pub enum Place {
    #[strum(to_string = "the authorization URL")]
    Login,
    #[strum(to_string = "/authorize")]
    Authorize,
    #[strum(to_string = "/authorize with Mallory's callback")]
    AuthorizeToMallory,
    #[strum(to_string = "a sign-in at the provider's page")]
    Provider,
    #[strum(to_string = "the broker's callback")]
    Callback,
    #[strum(to_string = "the app's /callback")]
    AppCallback,
    #[strum(to_string = "the app's /legacy/callback")]
    LegacyCallback,
    #[strum(to_string = "Mallory's callback")]
    MallorysCallback,
}

/// An address, with the numbers of its secrets. None is a value that Mallory makes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    pub place: Place,
    pub first: Option<usize>,
    pub second: Option<usize>,
}

impl Place {
    pub(super) fn is_callback(self) -> bool {
        self as usize >= Place::Callback as usize
    }

    /// The kinds of secrets in its addresses.
    pub fn kinds(self) -> [Option<Kind>; 2] {
        match self {
            Place::Login => [Some(Kind::Handle), None],
            Place::Authorize | Place::AuthorizeToMallory => {
                [Some(Kind::State), Some(Kind::Challenge)]
            }
            Place::Provider => [Some(Kind::UpstreamState), Some(Kind::Proof)],
            Place::Callback => [Some(Kind::UpstreamState), Some(Kind::ProviderCode)],
            Place::AppCallback => [None, None],
            Place::LegacyCallback | Place::MallorysCallback => {
                [Some(Kind::State), Some(Kind::Code)]
            }
        }
    }

    pub fn with(self, first: usize, second: impl Into<Option<usize>>) -> Address {
        let (first, second) = (Some(first), second.into());
        Address {
            place: self,
            first,
            second,
        }
    }
}

impl Address {
    /// The addresses that can be written with the secrets in `known`.
    pub(super) fn all(known: Set) -> Vec<Self> {
        let mut all = Vec::new();
        for place in Place::VARIANTS.iter().copied() {
            let is_callback = place.is_callback();
            let numbers = |kind: Option<Kind>| {
                let made_up = (kind.is_none() || is_callback).then_some(None);
                let known = kind.into_iter().flat_map(|kind| known.of(kind));
                made_up.into_iter().chain(known.map(Some)).collect()
            };
            let [firsts, seconds]: [Vec<_>; 2] = place.kinds().map(numbers);
            for first in firsts {
                let seconds = seconds
                    .iter()
                    .filter(|it| is_callback || it.is_none_or(|it| Some(it) == first));
                all.extend(seconds.map(|&second| Self {
                    place,
                    first,
                    second,
                }));
            }
        }
        all
    }

    pub fn secrets(self) -> impl Iterator<Item = (Kind, usize)> {
        let numbers = [self.first, self.second];
        let secrets = self.place.kinds().into_iter().zip(numbers);
        secrets.filter_map(|(kind, number)| kind.zip(number))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = [self.first, self.second];
        let secrets = self.place.kinds().into_iter().zip(numbers);
        let mut names: Vec<_> = secrets
            .filter_map(|(kind, it)| Some(name(kind?, it)))
            .collect();
        if self.first == self.second && !self.place.is_callback() {
            // The challenge is that of the same login.
            names.truncate(1);
        }
        let with = if names.is_empty() { "" } else { " with " };
        write!(f, "{}{with}{}", self.place, names.join(" and "))
    }
}

/// The contents of a tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Page {
    #[default]
    Blank,
    /// A redirect that the browser has not followed yet, or the provider's page.
    To(Address),
    /// The confirmation page at this address.
    Question(Address),
    /// The app's page of a user who is signed in.
    Profile,
    Refused,
}

impl Page {
    /// The redirect of the clean flow, which says nothing.
    pub(super) const APP: Self = Self::To(Address {
        place: Place::AppCallback,
        first: None,
        second: None,
    });
}

/// Mallory's power in an attack, beside her page and her browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Power {
    UsedBrowser,
    HostileProvider,
    /// A cookie is planted, or an address leaks.
    Other,
}

/// A goal of Mallory's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Display)]
pub enum Goal {
    #[strum(to_string = "Mallory is signed in as Ada")]
    Takeover,
    #[strum(to_string = "Ada's browser is signed in as Mallory")]
    SignedInAsMallory,
    #[strum(to_string = "Mallory's project has Ada's profile")]
    ProfileDisclosed,
    #[strum(to_string = "Ada's login is lost")]
    LostLogin,
}

/// A login; there is none without a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Login {
    pub(super) flow: Option<Flow>,
    /// The session of the app that holds it.
    pub(super) session: Option<usize>,
    /// The result, once there is one: the user, unless it failed.
    pub(super) result: Option<Option<User>>,
}

/// A session of the app. It has the number of the login that opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Session {
    pub(super) cookie: Option<usize>,
    pub(super) user: Option<User>,
}

/// The whole state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct World {
    /// The guards that are off.
    pub(super) off: Guards,
    /// The guards that have refused or changed something in this step.
    pub(super) held: Guards,
    pub(super) facts: Set,
    /// The cookies of Ada's browser, and the secrets in the addresses that it has requested.
    pub(super) ada: Set,
    /// All that Mallory knows, the cookies of her browser among it.
    pub(super) mallory: Set,
    pub(super) logins: [Login; 3],
    pub(super) sessions: [Session; 3],
    /// Ada's own tab, and that of Mallory's page.
    pub(super) tabs: [Page; 2],
    /// The number of times that Mallory's page may still send Ada's browser somewhere.
    pub(super) lures: u8,
    pub(super) power: Option<Power>,
    pub(super) reached: Option<Goal>,
}

impl World {
    /// Whether `guard` is on. Asked only where that makes a difference.
    pub(super) fn holds(&mut self, guard: Guard) -> bool {
        self.held |= guard.bit() & !self.off;
        self.off & guard.bit() == 0
    }

    pub(super) fn secrets_of(&mut self, user: User) -> &mut Set {
        match user {
            User::Ada => &mut self.ada,
            User::Mallory => &mut self.mallory,
        }
    }

    /// The goal that Mallory has reached.
    pub(super) fn goal(&self) -> Option<Goal> {
        let shows = |browser: Set, user| {
            let mut its = self.sessions.iter().filter(|it| it.user == Some(user));
            its.any(|it| (it.cookie).is_some_and(|it| browser.has(Kind::SessionCookie, it)))
        };
        // After Mallory has used Ada's browser, it may be signed in as her without an attack.
        let is_hers = self.power == Some(Power::UsedBrowser);
        if shows(self.mallory, User::Ada) {
            Some(Goal::Takeover)
        } else if shows(self.ada, User::Mallory) && !is_hers {
            Some(Goal::SignedInAsMallory)
        } else {
            self.reached
        }
    }
}

//! The broker and its providers.

use super::guard::Guard;
use super::world::{Address, Flow, Kind, Page, Place, Set, User, World, number, user_of};

/// The browser that sends a request.
#[derive(Clone, Copy)]
pub(super) struct Visitor {
    pub(super) browser: User,
    pub(super) cookies: Set,
    /// Whether the broker asks no question: the visit began at the app, or Continue was pressed.
    pub(super) is_vouched: bool,
}

impl World {
    /// The answer at the authorization URL of a login.
    pub(super) fn open(&mut self, by: Visitor, login: usize) -> Option<Page> {
        let mut upstream_logins = by.cookies.of(Kind::UpstreamCookie);
        let is_its = upstream_logins.any(|it| it / 2 == login);
        if self.logins[login].result.is_some() {
            return Some(Page::APP);
        }
        if self.facts.has(Kind::Bound, login) && !is_its && self.holds(Guard::OneBrowser) {
            return Some(Page::Refused);
        }
        if !by.is_vouched && self.holds(Guard::Confirmation) {
            return Some(Page::Question(Place::Login.with(login, None)));
        }
        self.facts.add(Kind::Bound, login);
        self.start_upstream_login(by.browser, login)
    }

    /// The answer at `/authorize`.
    pub(super) fn authorize(&mut self, by: Visitor, login: usize, place: Place) -> Option<Page> {
        if place == Place::AuthorizeToMallory {
            if self.holds(Guard::RedirectExact) {
                return Some(Page::Refused);
            }
            self.facts.add(Kind::ToMallory, number(login, by.browser));
        }
        self.start_upstream_login(by.browser, login)
    }

    fn start_upstream_login(&mut self, browser: User, login: usize) -> Option<Page> {
        let started = number(login, browser);
        let is_first = self
            .secrets_of(browser)
            .insert(Kind::UpstreamCookie, started);
        is_first.then(|| Page::To(Place::Provider.with(started, started)))
    }

    /// The answer at the broker's callback.
    pub(super) fn callback(&mut self, by: Visitor, address: Address) -> Option<Page> {
        let Some(found) = self.find(by, address.first) else {
            return Some(Page::Refused);
        };
        let login = found / 2;
        let is_clean = self.logins[login].flow == Some(Flow::Clean);
        if self.facts.has(Kind::Hostile, login) && self.holds(Guard::CallbackProvider) {
            return Some(Page::Refused);
        }
        let is_other = user_of(found) != by.browser;
        if is_clean && is_other && !by.is_vouched && self.holds(Guard::SameTraits) {
            return Some(Page::Question(Place::Callback.with(found, address.second)));
        }
        if !self.facts.insert(Kind::Consumed, found) && self.holds(Guard::UpstreamOnce) {
            return Some(if is_clean { Page::APP } else { Page::Refused });
        }
        let user = address
            .second
            .and_then(|code| self.authenticate(found, code));
        if !is_clean {
            return self.issue(found, user);
        }
        let result = &self.logins[login].result;
        if result.is_none() || !self.holds(Guard::CompleteOnce) {
            self.logins[login].result = Some(user);
        }
        Some(Page::APP)
    }

    /// The upstream login of this state, in this browser.
    fn find(&mut self, by: Visitor, state: Option<usize>) -> Option<usize> {
        let newest = by.cookies.of(Kind::UpstreamCookie).next_back();
        match state.filter(|it| by.cookies.has(Kind::UpstreamCookie, *it)) {
            None if newest.is_some() && !self.holds(Guard::UpstreamState) => newest,
            None if state.is_some() && !self.holds(Guard::UpstreamCookie) => state,
            found => found,
        }
    }

    /// The user of a provider's code.
    fn authenticate(&mut self, upstream_login: usize, code: usize) -> Option<User> {
        if self.facts.has(Kind::Hostile, upstream_login / 2) {
            if !self.holds(Guard::Issuer) {
                // The code goes to the provider that the login began with.
                self.mallory.add(Kind::ProviderCode, code);
            }
            return None;
        }
        let is_other = code / 2 != upstream_login;
        if is_other && (self.holds(Guard::UpstreamPkce) || self.holds(Guard::Nonce)) {
            return None;
        }
        self.facts
            .insert(Kind::Exchanged, code)
            .then(|| user_of(code))
    }

    fn issue(&mut self, upstream_login: usize, user: Option<User>) -> Option<Page> {
        let login = upstream_login / 2;
        let code = user.map(|user| number(login, user));
        let is_sent = self.facts.has(Kind::ToMallory, upstream_login);
        if let Some(code) = code.filter(|_| is_sent) {
            self.facts.add(Kind::SentToMallory, code);
        }
        let callbacks = [Place::LegacyCallback, Place::MallorysCallback];
        Some(Page::To(callbacks[usize::from(is_sent)].with(login, code)))
    }

    /// Redeems a code with the credentials of the app, or of Mallory's project, and with the
    /// verifier of a login. Every code is issued to the app.
    pub(super) fn redeem(&mut self, code: usize, by: User, login: Option<usize>) -> Option<User> {
        let is_mallory = by == User::Mallory;
        let is_hers = self.facts.has(Kind::SentToMallory, code);
        let is_refused = is_mallory && self.holds(Guard::CodeProject)
            || is_mallory != is_hers && self.holds(Guard::CodeCallback)
            || login != Some(code / 2) && self.holds(Guard::Pkce)
            || !self.facts.insert(Kind::Redeemed, code) && self.holds(Guard::CodeOnce);
        (!is_refused).then(|| user_of(code))
    }
}

//! The app, a consumer like the demo.

use super::broker::Visitor;
use super::guard::Guard;
use super::world::{ADAS, Address, Flow, Kind, Login, Page, Place, Session, User, World};

impl World {
    /// Starts the login with this number, in the session of the browser or a new one.
    pub(super) fn start(&mut self, by: Visitor, login: usize, flow: Flow) -> Option<Page> {
        if self.logins[login].flow.is_some() {
            return None;
        }
        let session = match self.session(by) {
            Some(session) => session,
            None => self.open_session(by.browser, login)?,
        };
        self.logins[login] = Login {
            flow: Some(flow),
            session: Some(session),
            result: None,
        };
        self.facts.add(Kind::Held, login);
        if flow == Flow::Legacy {
            return Some(Page::To(Place::Authorize.with(login, login)));
        }
        self.secrets_of(by.browser).add(Kind::LoginCookie, login);
        if login == ADAS && !self.holds(Guard::SecretHandle) {
            self.mallory.add(Kind::Handle, login);
        }
        Some(Page::To(Place::Login.with(login, None)))
    }

    /// Opens the session with this number, and gives the browser its cookie.
    pub(super) fn open_session(&mut self, browser: User, number: usize) -> Option<usize> {
        let is_new = self.sessions[number] == Session::default();
        is_new.then(|| self.set_cookie(browser, number, number))
    }

    pub(super) fn set_cookie(&mut self, browser: User, session: usize, cookie: usize) -> usize {
        if browser == User::Ada {
            self.ada.clear(Kind::SessionCookie);
        }
        self.secrets_of(browser).add(Kind::SessionCookie, cookie);
        self.sessions[session].cookie = Some(cookie);
        session
    }

    /// The session of the cookie that the browser sends.
    fn session(&self, by: Visitor) -> Option<usize> {
        let cookie = by.cookies.of(Kind::SessionCookie).next()?;
        let mut sessions = self.sessions.iter();
        sessions.position(|session| session.cookie == Some(cookie))
    }

    /// The clean callback: reads the results of the logins of this browser, newest first.
    pub(super) fn app_callback(&mut self, by: Visitor) -> Option<Page> {
        let Some(session) = self.session(by) else {
            return Some(Page::Refused);
        };
        for login in (0..3).rev() {
            let Login { flow, result, .. } = self.logins[login];
            let is_here = self.logins[login].session == Some(session);
            let is_held = self.facts.has(Kind::Held, login) && flow == Some(Flow::Clean);
            let has_cookie = by.cookies.has(Kind::LoginCookie, login);
            if !is_here || !is_held || !has_cookie && self.holds(Guard::LoginCookie) {
                continue;
            }
            if result.is_some() || !self.holds(Guard::PendingKept) {
                self.facts.remove(Kind::Held, login);
            }
            if let Some(user) = result {
                return self.sign_in(by, session, user);
            }
        }
        let is_signed_in = self.sessions[session].user.is_some();
        Some(if is_signed_in {
            Page::Profile
        } else {
            Page::Refused
        })
    }

    /// The legacy callback: consumes the transaction, then redeems the code.
    pub(super) fn legacy_callback(&mut self, by: Visitor, address: Address) -> Option<Page> {
        let session = self.session(by);
        let login = session.and_then(|session| self.transaction(session, address.first));
        let (Some(session), Some(login)) = (session, login) else {
            return Some(Page::Refused);
        };
        if !self.facts.insert(Kind::Answered, login) && self.holds(Guard::TransactionOnce) {
            return Some(Page::Refused);
        }
        let code = address.second;
        let user = code.and_then(|code| self.redeem(code, User::Ada, Some(login)));
        self.sign_in(by, session, user)
    }

    /// The transaction of this state, in this session.
    fn transaction(&mut self, session: usize, state: Option<usize>) -> Option<usize> {
        let World { logins, facts, .. } = *self;
        let is_held = |login: &usize| {
            logins[*login].flow == Some(Flow::Legacy) && facts.has(Kind::Held, *login)
        };
        let is_here = |login: &usize| logins[*login].session == Some(session);
        let newest = (0..3).rev().find(|it| is_held(it) && is_here(it));
        match state.filter(is_held) {
            Some(login) if is_here(&login) => Some(login),
            Some(login) if !self.holds(Guard::StateOfSession) => Some(login),
            _ if newest.is_some() && !self.holds(Guard::State) => newest,
            _ => None,
        }
    }

    fn sign_in(&mut self, by: Visitor, session: usize, user: Option<User>) -> Option<Page> {
        let Some(user) = user else {
            return Some(Page::Refused);
        };
        if self.holds(Guard::SessionRenewal) {
            // Three renewals are enough for one model.
            let cookie = self.sessions[session].cookie? + self.sessions.len();
            (cookie < 12).then(|| self.set_cookie(by.browser, session, cookie))?;
        }
        self.sessions[session].user = Some(user);
        Some(Page::Profile)
    }
}

//! The browser that sent a request: the cookie with its session's id, the cookies
//! that tie its logins to it, and what a handler may do with its session.

use std::sync::Arc;

use contract::{LoginLifetime, Profile, Provider, SessionKey, State as LoginState};
use rocket::http::{Cookie, CookieJar, SameSite};
use rocket::outcome::Outcome::Success;
use rocket::request::{FromRequest, Outcome, Request};
use rocket::time;
use rocket::{Rocket, Sentinel, State};
use rusqlite::Result as Stored;

use crate::accounts::Account;
use crate::app::App;
use crate::cookies::{BrowserLook, CookieValue, SentCookies};
use crate::session::{
    ExpiredLogin, LegacyLogin, LoginBinding, LoginNumber, LoginSlot, Session, SessionRef, SignedIn,
    SignedInLifetime, TakenLogin, Via, seconds,
};
use crate::session_store::SessionCookie;

/// The browser that sent this request, and the time at which it did. A request guard
/// that always succeeds: a browser without a session is a browser, too.
#[derive(Clone, Copy)]
pub(crate) struct Browser<'r> {
    app: &'r App,
    sent: SentCookies<'r>,
    /// The cookies that the response will set.
    jar: &'r CookieJar<'r>,
    /// The time of the request, in Unix milliseconds.
    pub(crate) now_ms: i64,
    pub(crate) look: BrowserLook,
}

/// The user who is signed in at a browser, for a page to show.
pub(crate) struct CurrentUser {
    pub(crate) account: Account,
    /// The flow by which they signed in.
    pub(crate) via: Via,
}

impl Browser<'_> {
    /// The browser's session, if its cookie has the id of a live one.
    pub(crate) fn session(&self) -> Option<SessionRef> {
        self.app.sessions.find(&self.session_id()?, self.now_ms)
    }

    /// Reads or changes a session that [`session`](Self::session) found.
    pub(crate) fn with<R>(
        &self,
        session: SessionRef,
        change: impl FnOnce(Session<'_>) -> Stored<R>,
    ) -> Option<R> {
        self.app.sessions.with(session, self.now_ms, change)
    }

    /// The latest login in `session` that was not finished in time.
    pub(crate) fn expired_login(&self, session: SessionRef) -> Option<ExpiredLogin> {
        self.with(session, |session| session.expired())?
    }

    /// Whether a session that [`session`](Self::session) found has not ended, also
    /// when its id was renewed meanwhile.
    pub(crate) fn is_live(&self, session: SessionRef) -> bool {
        self.with(session, |_| Ok(())).is_some()
    }

    /// Keeps a clean login in the browser's session, which begins now if there was
    /// none, and ties the *login* to the browser by a cookie of its own.
    ///
    /// This cookie, made at this start, is the specification's "initiating browser's
    /// cookie". The session's proves nothing: it existed before. How the browser looks is
    /// kept beside it, for a cookie can be planted: see [`BrowserLook`].
    pub(crate) fn keep_login(&self, key: &SessionKey, provider: Provider) {
        let value = CookieValue::random();
        let binding = LoginBinding {
            cookie: value.digest(),
            look: self.look,
        };
        let slot = self.keep(|session| session.keep_login(key, provider, binding));
        let name = self.login_cookie_name(slot);
        // The broker knows the login for 600 seconds. When it ends sooner the
        // cookie is not cleared: another tab may have set a new one by now.
        self.jar
            .add(self.cookie(name, value.expose(), LoginLifetime::SECONDS.into()));
    }

    /// Keeps a legacy login in the browser's session, which begins now if there was
    /// none. Its `state` comes back through the browser, so it needs no cookie of its
    /// own.
    pub(crate) fn keep_transaction(&self, login: &LegacyLogin) {
        self.keep(|session| session.keep_transaction(login));
    }

    fn keep<R>(&self, login: impl FnOnce(Session<'_>) -> Stored<R>) -> R {
        let sessions = &self.app.sessions;
        let (kept, cookie) = sessions.find_or_open_with(self.session_id(), self.now_ms, login);
        self.set_session_cookie(&cookie);
        kept
    }

    /// Takes the newest login before `before` that this very browser has started in
    /// `session`.
    pub(crate) fn take_login(
        &self,
        session: SessionRef,
        before: LoginNumber,
    ) -> Option<TakenLogin> {
        let binding = |slot| {
            let value = self.sent.value(&self.login_cookie_name(slot))?;
            Some(LoginBinding {
                cookie: value.parse::<CookieValue>().ok()?.digest(),
                look: self.look,
            })
        };
        self.with(session, |session| session.take_login(before, binding))?
    }

    /// Consumes the transaction in `session` that `state` belongs to, if this browser
    /// looks like the one that started it.
    pub(crate) fn consume_transaction(
        &self,
        session: SessionRef,
        state: &LoginState,
    ) -> Option<LegacyLogin> {
        self.with(session, |session| {
            session.consume_transaction(state, self.look)
        })?
    }

    /// Signs in the user of `profile` in `session`, and returns the user who was
    /// signed in there before. `Err` when the session has ended meanwhile.
    ///
    /// The session's **id is renewed**. An attacker who knew the old one (planted it,
    /// or saw it) knew it while it was worthless, and it stays so. Only the id
    /// changes: logins that other tabs have under way are still in the session, and
    /// the tabs send the new cookie by themselves, since they share it.
    pub(crate) fn sign_in(
        &self,
        session: SessionRef,
        profile: &Profile,
        via: Via,
    ) -> Result<Option<SignedIn>, SessionEnded> {
        let user = SignedIn {
            subject: profile.subject.clone(),
            via,
            until_ms: self.now_ms + SignedInLifetime::MS,
        };
        let (replaced, cookie) = self
            .app
            .sessions
            .sign_in(session, self.now_ms, &user)
            .ok_or(SessionEnded)?;
        self.app.accounts.record_sign_in(profile, self.now_ms);
        self.set_session_cookie(&cookie);
        Ok(replaced)
    }

    /// Ends the browser's session *on the server*, and clears the cookie. The first
    /// is what counts: a cookie that was copied beforehand opens nothing any more. Returns the
    /// user who was signed in.
    pub(crate) fn sign_out(&self) -> Option<SignedIn> {
        let user = self
            .session_id()
            .and_then(|id| self.app.sessions.end(&id, self.now_ms));
        self.jar
            .add(self.cookie(self.session_cookie_name().into(), "", 0));
        user
    }

    /// The user who is signed in.
    pub(crate) fn user(&self) -> Option<CurrentUser> {
        let sessions = &self.app.sessions;
        let signed_in = sessions.signed_in(&self.session_id()?, self.now_ms)?;
        Some(CurrentUser {
            account: self.app.accounts.find(&signed_in.subject)?,
            via: signed_in.via,
        })
    }

    fn session_id(&self) -> Option<CookieValue> {
        self.sent.value(self.session_cookie_name())?.parse().ok()
    }

    fn set_session_cookie(&self, SessionCookie { id, until_ms }: &SessionCookie) {
        let max_age = seconds(until_ms - self.now_ms);
        self.jar
            .add(self.cookie(self.session_cookie_name().into(), id.expose(), max_age));
    }

    // [cookie]
    /// A cookie of this application. Every attribute is written out; a framework's
    /// defaults are not a decision.
    fn cookie(&self, name: String, value: &str, max_age_seconds: i64) -> Cookie<'static> {
        Cookie::build((name, value.to_owned()))
            // No script reads it.
            .http_only(true)
            // Lax, explicitly. The callback is reached by a redirect that began
            // at the provider, so the browser calls it cross-site and withholds
            // a `Strict` cookie: every login would end in "no session". (Strict is
            // Rocket's default, and when everything runs on localhost it works,
            // because ports don't make sites: the bug shows in production.)
            // Left out, some browsers would send it on cross-site POSTs, too.
            .same_site(SameSite::Lax)
            // `__Host-` binds the cookie to this very host, without `Domain`, so
            // no sister subdomain can plant one. It demands Secure and Path=/.
            .secure(self.is_secure())
            .path("/")
            // Not longer than the session on the server, which decides.
            .max_age(time::Duration::seconds(max_age_seconds))
            .build()
    }
    // [/]

    fn session_cookie_name(&self) -> &'static str {
        if self.is_secure() {
            "__Host-demo_session"
        } else {
            // On http://localhost not every browser keeps a Secure cookie.
            "demo_session"
        }
    }

    fn login_cookie_name(&self, LoginSlot(slot): LoginSlot) -> String {
        if self.is_secure() {
            format!("__Host-demo_login_{slot}")
        } else {
            format!("demo_login_{slot}")
        }
    }

    fn is_secure(&self) -> bool {
        self.app.config.consumer_base_url.is_https()
    }
}

/// The session ended while its login was being finished: the user signed out in
/// another tab, or the store was full and evicted it.
#[derive(Debug)]
pub(crate) struct SessionEnded;

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Browser<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let app: &Arc<App> = request.rocket().state().expect("the sentinel saw it");
        Success(Browser {
            app,
            sent: SentCookies::of(request),
            jar: request.cookies(),
            now_ms: app.clock.now_ms(),
            look: BrowserLook::of(request.headers()),
        })
    }
}

impl Sentinel for Browser<'_> {
    fn abort(rocket: &Rocket<rocket::Ignite>) -> bool {
        <&State<Arc<App>>>::abort(rocket)
    }
}

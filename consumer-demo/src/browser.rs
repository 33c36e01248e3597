//! The browser in front of us: the cookie that names its session, those that tie
//! its logins to it, and what a handler may do with that session.

use std::sync::Arc;

use contract::{LoginLifetime, Profile, Provider, SessionKey};
use rocket::http::{Cookie, CookieJar, SameSite};
use rocket::outcome::Outcome::Success;
use rocket::request::{FromRequest, Outcome, Request};
use rocket::time;
use rocket::{Rocket, Sentinel, State};

use crate::App;
use crate::accounts::Account;
use crate::cookies::SentCookies;
use crate::session::{
    Claim, CookieValue, LegacyLogin, LoginNumber, LoginSlot, Naming, Session, SessionRef, SignedIn,
    SignedInLifetime, Via, seconds,
};

/// The browser that sent this request, at the time when it did. A request guard
/// that always succeeds: a browser without a session is a browser, too.
#[derive(Clone, Copy)]
pub(crate) struct Browser<'r> {
    app: &'r App,
    sent: SentCookies<'r>,
    answer: &'r CookieJar<'r>,
    /// When the request arrived, in Unix milliseconds.
    pub(crate) now_ms: i64,
}

/// Who is signed in at a browser, for a page to say so.
pub(crate) struct Visitor {
    /// Their account.
    pub(crate) account: Account,
    /// The flow by which they signed in.
    pub(crate) via: Via,
}

impl Browser<'_> {
    /// Its session, if its cookie names a live one.
    pub(crate) fn session(&self) -> Option<SessionRef> {
        self.app.sessions.find(&self.session_id()?, self.now_ms)
    }

    /// Reads or changes a session that [`session`](Self::session) found.
    pub(crate) fn with<R>(
        &self,
        session: SessionRef,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<R> {
        self.app.sessions.with(session, self.now_ms, change)
    }

    /// Whether a session that [`session`](Self::session) found is still there,
    /// be it under another name.
    pub(crate) fn is_live(&self, session: SessionRef) -> bool {
        self.with(session, |_| ()).is_some()
    }

    /// Keeps a clean login in its session, which begins now if it had none, and
    /// ties the *login* to the browser by a cookie of its own.
    ///
    /// "The initiating browser's cookie" of the specification is this one, made at
    /// this start. The session's proves nothing: it existed before.
    pub(crate) fn keep_login(&self, key: SessionKey, provider: Provider) {
        let value = CookieValue::random();
        let slot =
            self.keep(|session| session.keep_login(key, provider, value.digest(), self.now_ms));
        let name = self.login_cookie_name(slot);
        // The broker knows the login for 600 seconds. When it ends sooner the
        // cookie is not cleared: another tab may have got a new one by now.
        self.answer
            .add(self.cookie(name, value.expose(), LoginLifetime::SECONDS.into()));
    }

    /// Keeps a legacy login in its session, which begins now if it had none. Its
    /// `state` comes back through the browser, so it needs no cookie of its own.
    pub(crate) fn keep_transaction(&self, login: LegacyLogin) {
        self.keep(|session| session.keep_transaction(login));
    }

    fn keep<R>(&self, login: impl FnOnce(&mut Session) -> R) -> R {
        let sessions = &self.app.sessions;
        let (kept, naming) = sessions.keep(self.session_id(), self.now_ms, login);
        self.set_cookie(&naming);
        kept
    }

    /// Takes the key of the newest login before `before` that this very browser
    /// has started in `session`.
    pub(crate) fn claim_login(&self, session: SessionRef, before: LoginNumber) -> Option<Claim> {
        let cookie = |slot| {
            let value = self.sent.value(&self.login_cookie_name(slot))?;
            Some(value.parse::<CookieValue>().ok()?.digest())
        };
        self.with(session, |session| session.claim_login(before, cookie))?
    }

    /// Signs in whom the broker vouched for, in `session`, and returns who was
    /// signed in there before. `Err` when the session has ended meanwhile.
    ///
    /// The session gets a **new name**. Whoever knew the old one (planted it,
    /// or saw it) knew it while it was worthless, and it stays so. Only the name
    /// changes: logins that other tabs have under way are still in there, and
    /// the tabs send the new cookie by themselves, since they share it.
    pub(crate) fn sign_in(
        &self,
        session: SessionRef,
        profile: Profile,
        via: Via,
    ) -> Result<Option<SignedIn>, SessionEnded> {
        let person = SignedIn {
            subject: profile.subject.clone(),
            via,
            until_ms: self.now_ms + SignedInLifetime::MS,
        };
        let (replaced, naming) = self
            .app
            .sessions
            .sign_in_with(session, self.now_ms, |session| session.sign_in(person))
            .ok_or(SessionEnded)?;
        self.app.accounts.record_sign_in(profile, self.now_ms);
        self.set_cookie(&naming);
        Ok(replaced)
    }

    /// Ends its session *on the server*, and takes the cookie away. The first is
    /// what counts: a cookie that was copied beforehand opens nothing any more.
    pub(crate) fn sign_out(&self) -> Option<Session> {
        let ended = self
            .session()
            .and_then(|session| self.app.sessions.end(session));
        self.answer
            .add(self.cookie(self.cookie_name().into(), "", 0));
        ended
    }

    /// Who is signed in.
    pub(crate) fn visitor(&self) -> Option<Visitor> {
        let session = self.session()?;
        let person = self.with(session, |session| session.signed_in().cloned())??;
        Some(Visitor {
            account: self.app.accounts.find(&person.subject)?,
            via: person.via,
        })
    }

    fn session_id(&self) -> Option<CookieValue> {
        self.sent.value(self.cookie_name())?.parse().ok()
    }

    fn set_cookie(&self, naming: &Naming) {
        let max_age = seconds(naming.until_ms - self.now_ms);
        self.answer
            .add(self.cookie(self.cookie_name().into(), naming.id.expose(), max_age));
    }

    /// A cookie of this application. Every attribute is written out; a framework's
    /// defaults are not a decision.
    fn cookie(&self, name: String, value: &str, max_age_seconds: i64) -> Cookie<'static> {
        Cookie::build((name, value.to_owned()))
            // No script reads it.
            .http_only(true)
            // Lax, explicitly. The callback is reached by a redirect that began
            // at the provider, so the browser calls it cross-site and withholds
            // a `Strict` cookie: every login would end in "no session". (It is
            // Rocket's default, and when everything runs on localhost it works,
            // because ports don't make sites: the bug shows in production.)
            // Left out, some browsers would send it on cross-site POSTs, too.
            .same_site(SameSite::Lax)
            // `__Host-` binds the cookie to this very host, without `Domain`, so
            // no sister subdomain can plant one. It demands Secure and Path=/.
            .secure(self.is_secure())
            .path("/")
            // Not longer than the session on the server, which is the judge.
            .max_age(time::Duration::seconds(max_age_seconds))
            .build()
    }

    fn cookie_name(&self) -> &'static str {
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

/// The session ended while its login was being finished: signed out in another
/// tab, or pushed out of a full memory.
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
            answer: request.cookies(),
            now_ms: app.clock.now_ms(),
        })
    }
}

impl Sentinel for Browser<'_> {
    fn abort(rocket: &Rocket<rocket::Ignite>) -> bool {
        <&State<Arc<App>>>::abort(rocket)
    }
}

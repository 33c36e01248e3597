//! The steps of a login in each flow, in their order. Every step must succeed.

use broker::model::grant::{NewGrant, Redemption};
use broker::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery, SessionStatus,
};
use broker::model::upstream_login::{Seed, UpstreamLogin};
use broker::model::{LoginId, UnixMs};
use broker::store::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Store, StoreError};
use contract::{CodeVerifier, Digest, Profile, Provider, SessionKey, Subject};

use crate::error::BenchError;

/// The time at which a login may first happen.
pub(crate) const START: UnixMs = UnixMs(1_790_000_000_000);

/// A session ends after ten minutes, and is known for twenty.
const LIFETIME_MS: i64 = 600_000;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Open,
    BindBrowser,
    ConsumeUpstreamLogin,
    Complete,
    ConsumeResult,
    Issue,
    Redeem,
    Token,
    Revoke,
}

/// The arguments of one login's steps.
pub(crate) struct Login {
    now: UnixMs,
    new: NewLogin,
    browser: BrowserBinding,
    upstream_login: UpstreamLogin,
    query: ResultQuery,
    grant: NewGrant,
    redemption: Redemption,
}

impl Step {
    pub(crate) const ALL: [Self; 9] = [
        Self::Open,
        Self::BindBrowser,
        Self::ConsumeUpstreamLogin,
        Self::Complete,
        Self::ConsumeResult,
        Self::Issue,
        Self::Redeem,
        Self::Token,
        Self::Revoke,
    ];

    /// Those of a clean login, in their order.
    pub(crate) const CLEAN: [Self; 5] = [
        Self::Open,
        Self::BindBrowser,
        Self::ConsumeUpstreamLogin,
        Self::Complete,
        Self::ConsumeResult,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::BindBrowser => "bind_browser",
            Self::ConsumeUpstreamLogin => "consume_upstream_login",
            Self::Complete => "complete",
            Self::ConsumeResult => "consume_result",
            Self::Issue => "issue",
            Self::Redeem => "redeem",
            Self::Token => "token",
            Self::Revoke => "revoke",
        }
    }

    /// Runs the step, which must succeed.
    pub(crate) async fn run(self, store: &dyn Store, login: &Login) -> Result<(), BenchError> {
        match self.succeeds(store, login).await? {
            true => Ok(()),
            false => Err(BenchError::Step(self.name())),
        }
    }

    async fn succeeds(self, store: &dyn Store, login: &Login) -> Result<bool, StoreError> {
        let now = login.now;
        Ok(match self {
            Self::Open => store.open(login.new_login(), now).await? == Opened::Fresh,
            Self::BindBrowser => {
                let handle = login.new.handle;
                let bound = store.bind_browser(handle, login.browser, now).await;
                matches!(bound?, Bound::Granted)
            }
            Self::ConsumeUpstreamLogin => {
                let consumed = store.consume_upstream_login(&login.upstream_login).await;
                consumed? == Consumed::Now
            }
            Self::Complete => {
                let outcome = LoginOutcome::Succeeded(login.grant.profile.clone());
                let completed = store.complete(login.new.handle, outcome, now).await;
                completed? == Completed::Now
            }
            Self::ConsumeResult => {
                let read = store.consume_result(login.query(), now).await;
                matches!(read?, ResultRead::Outcome(_))
            }
            Self::Issue => {
                store.issue(login.grant()).await?;
                true
            }
            Self::Redeem => {
                let redeemed = store.redeem(login.redemption(), now).await;
                matches!(redeemed?, Redeemed::Token(_))
            }
            Self::Token => {
                let token = store.token(login.redemption.token, now).await;
                token?.is_some()
            }
            Self::Revoke => {
                let revoked = store.revoke(login.redemption.token).await;
                revoked?.is_some()
            }
        })
    }
}

impl Login {
    /// The login with this number, from which its secrets are derived, at `now`.
    pub(crate) fn numbered(number: usize, now: UnixMs) -> Self {
        let secret = |what: &str| Digest::derive(what, &number.to_be_bytes());
        let session = session(&SessionKey::from_random(secret("key").as_bytes()), now);
        let (new, browser) = (
            NewLogin {
                key: secret("key"),
                handle: secret("handle"),
                session,
            },
            BrowserBinding(secret("browser")),
        );
        let seed = Seed::from_random(*secret("upstream_login").as_bytes());
        let upstream_login = UpstreamLogin::for_session(seed, &new.session, new.handle, browser);
        let challenge = CodeVerifier::from_random(secret("verifier").as_bytes()).challenge();
        let grant = NewGrant::of(&upstream_login, &challenge, ada(), secret("code"), now);
        Self {
            query: ResultQuery {
                key: new.key,
                project: new.session.project.clone(),
                redirect_uri: new.session.redirect_uri.clone(),
            },
            redemption: Redemption {
                code: grant.code,
                project: grant.project.clone(),
                callback: grant.callback,
                challenge,
                token: secret("token"),
                token_ends: now.plus_ms(LIFETIME_MS),
                known_until: now.plus_ms(2 * LIFETIME_MS),
            },
            now,
            new,
            browser,
            upstream_login,
            grant,
        }
    }
}

/// Single-use values are not `Clone`: each step makes its own from the parts of a login.
impl Login {
    fn new_login(&self) -> NewLogin {
        NewLogin {
            session: self.new.session.clone(),
            ..self.new
        }
    }

    fn query(&self) -> ResultQuery {
        ResultQuery {
            project: self.query.project.clone(),
            redirect_uri: self.query.redirect_uri.clone(),
            ..self.query
        }
    }

    fn grant(&self) -> NewGrant {
        NewGrant {
            login: self.grant.login.clone(),
            project: self.grant.project.clone(),
            challenge: self.grant.challenge.clone(),
            profile: self.grant.profile.clone(),
            ..self.grant
        }
    }

    fn redemption(&self) -> Redemption {
        Redemption {
            project: self.redemption.project.clone(),
            challenge: self.redemption.challenge.clone(),
            ..self.redemption
        }
    }
}

fn session(key: &SessionKey, now: UnixMs) -> LoginSession {
    LoginSession {
        login: LoginId::of_key(key),
        project: "prj_ada".parse().expect("a client id"),
        redirect_uri: "https://app.example/cb".parse().expect("a callback"),
        provider: Provider::GitHub,
        ends: now.plus_ms(LIFETIME_MS),
        known_until: now.plus_ms(2 * LIFETIME_MS),
        status: SessionStatus::Unbound,
    }
}

fn ada() -> Profile {
    Profile {
        subject: Subject::of(Provider::GitHub, "583231"),
        provider: Provider::GitHub,
        provider_subject: "583231".to_owned(),
        name: Some("Ada Lovelace".to_owned()),
        username: Some("ada".to_owned()),
        email: Some("ada@mail.example".to_owned()),
        email_verified: true,
        avatar_url: None,
    }
}

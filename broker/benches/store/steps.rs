//! The steps of a login in each flow, in their order. Every step must succeed.

use broker::model::grant::{NewGrant, Redemption};
use broker::model::login_session::{
    BrowserBinding, LoginOutcome, LoginSession, NewLogin, ResultQuery, SessionStatus,
};
use broker::model::upstream_login::{Seed, UpstreamLogin};
use broker::model::{LoginId, UnixMs};
use broker::store::{Bound, Completed, Consumed, Opened, Redeemed, ResultRead, Store};
use contract::{CodeVerifier, Digest, Profile, Provider, SessionKey, Subject};

const NOW: UnixMs = UnixMs(1_790_000_000_000);

/// The end of every lifetime, after the benchmark.
const END: UnixMs = UnixMs(NOW.0 + 600_000);

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

    /// Runs the step.
    pub(crate) async fn run(self, store: &dyn Store, login: &Login) {
        let succeeded = match self {
            Self::Open => store.open(login.new_login(), NOW).await.unwrap() == Opened::Fresh,
            Self::BindBrowser => {
                let handle = login.new.handle;
                let bound = store.bind_browser(handle, login.browser, NOW).await;
                matches!(bound.unwrap(), Bound::Granted)
            }
            Self::ConsumeUpstreamLogin => {
                let consumed = store.consume_upstream_login(&login.upstream_login).await;
                consumed.unwrap() == Consumed::Now
            }
            Self::Complete => {
                let outcome = LoginOutcome::Succeeded(login.grant.profile.clone());
                let completed = store.complete(login.new.handle, outcome, NOW).await;
                completed.unwrap() == Completed::Now
            }
            Self::ConsumeResult => {
                let read = store.consume_result(login.query(), NOW).await;
                matches!(read.unwrap(), ResultRead::Outcome(_))
            }
            Self::Issue => store.issue(login.grant()).await.is_ok(),
            Self::Redeem => {
                let redeemed = store.redeem(login.redemption(), NOW).await;
                matches!(redeemed.unwrap(), Redeemed::Token(_))
            }
            Self::Token => {
                let token = store.token(login.redemption.token, NOW).await;
                token.unwrap().is_some()
            }
            Self::Revoke => {
                let revoked = store.revoke(login.redemption.token).await;
                revoked.unwrap().is_some()
            }
        };
        assert!(succeeded, "{} did not succeed", self.name());
    }
}

impl Login {
    /// The login with this number, from which its secrets are derived.
    pub(crate) fn numbered(number: usize) -> Self {
        let secret = |what: &str| Digest::derive(what, &number.to_be_bytes());
        let session = session(&SessionKey::from_random(secret("key").as_bytes()));
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
        let grant = NewGrant::of(&upstream_login, &challenge, ada(), secret("code"), NOW);
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
                token_ends: END,
                known_until: END,
            },
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

fn session(key: &SessionKey) -> LoginSession {
    LoginSession {
        login: LoginId::of_key(key),
        project: "prj_ada".parse().unwrap(),
        redirect_uri: "https://app.example/cb".parse().unwrap(),
        provider: Provider::GitHub,
        ends: END,
        known_until: END,
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

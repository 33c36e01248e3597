//! One login: the calls of its backend and of its browsers. The model numbers logins,
//! upstream logins and browsers; this module maps the numbers to secrets.

use agent::backend::{self, LegacyLogin};
use agent::browser::CookieJar;
use broker::model::LoginId;
use url::Url;

use crate::RunError;
use crate::client::{BASE_URL, CONSUMER, Request, Response};
use crate::history::{Flow, History};
use crate::model::{Project, Provider, Step, Visitor, Wrong};
use crate::provider::{Providers, Script, SignIn};
use crate::random::Random;
use crate::recorder::{Call, Recorded, Recorder};

/// The key of a clean login is that of its first login.
const KEY: u8 = 1;

/// One login: what is kept of it, and what was recorded.
pub(crate) struct Login {
    pub(crate) history: History,
    secrets: Secrets,
    logins: u8,
    upstream_logins: u8,
    browsers: u8,
}

enum Secrets {
    Clean { key: String },
    Legacy(LegacyLogin),
}

/// A clean login that was started.
#[derive(Debug, Clone)]
pub(crate) struct Started {
    login: u8,
    authorization_url: String,
}

/// A browser, with the cookies that the broker gave it.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    visitor: Visitor,
    cookies: CookieJar,
}

/// A browser on its way to the provider.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamVisit {
    pub(crate) upstream_login: u8,
    pub(crate) browser: Browser,
    pub(crate) provider_url: String,
}

impl Login {
    /// A login by the clean flow.
    pub(crate) fn clean(
        index: u64,
        provider: Provider,
        random: &mut Random,
    ) -> Result<Self, RunError> {
        let key = random.secret();
        let id = LoginId::of_key(&key.parse().map_err(|_| "a key has its form")?);
        let history = History::new(index, Flow::Clean, provider, id.as_str());
        Ok(Self::new(history, Secrets::Clean { key }))
    }

    /// A login by the legacy flow.
    pub(crate) fn legacy(
        index: u64,
        provider: Provider,
        random: &mut Random,
    ) -> Result<Self, RunError> {
        let transaction = random.legacy_login();
        let state = transaction.state.parse();
        let id = LoginId::of_state(&state.map_err(|_| "a state has its form")?);
        let history = History::new(index, Flow::Legacy, provider, id.as_str());
        Ok(Self::new(history, Secrets::Legacy(transaction)))
    }

    fn new(history: History, secrets: Secrets) -> Self {
        Self {
            history,
            secrets,
            logins: 0,
            upstream_logins: 0,
            browsers: 0,
        }
    }

    /// A browser without any cookie.
    pub(crate) fn browser(&mut self) -> Browser {
        self.browsers += 1;
        Browser {
            visitor: Visitor::Browser(self.browsers),
            cookies: CookieJar::default(),
        }
    }

    /// `POST /v1/login/session` with the key of this login.
    pub(crate) fn start(&mut self) -> Call {
        self.logins += 1;
        Call {
            step: Step::Start {
                login: self.logins,
                key: KEY,
                by: Project::A,
                at: self.history.provider,
                wrong: None,
            },
            request: Request::Backend(CONSUMER.start(&self.key(), self.history.provider.name())),
        }
    }

    /// A visit of the authorization URL, from the consumer's page.
    pub(crate) fn visit(&mut self, started: &Started, browser: &Browser) -> Call {
        self.upstream_logins += 1;
        let (login, by, upstream_login) = (started.login, browser.visitor, self.upstream_logins);
        Call {
            step: Step::Visit {
                login,
                by,
                upstream_login,
            },
            request: Request::navigate(&started.authorization_url, &browser.cookies),
        }
    }

    /// The same visit by a link that does not show where it comes from.
    pub(crate) fn visit_unvouched(&self, started: &Started, browser: &Browser) -> Call {
        let (login, by) = (started.login, browser.visitor);
        Call {
            step: Step::VisitUnvouched { login, by },
            request: Request::typed(&started.authorization_url, &browser.cookies),
        }
    }

    /// Continue, on the confirmation page.
    pub(crate) fn press_continue(&mut self, started: &Started, browser: &Browser) -> Call {
        let visit = self.visit(started, browser);
        Call {
            request: browser.press(started, "continue"),
            ..visit
        }
    }

    /// Cancel, on the confirmation page.
    pub(crate) fn press_cancel(&self, started: &Started, browser: &Browser) -> Call {
        Call {
            step: Step::Cancel {
                login: started.login,
                by: browser.visitor,
            },
            request: browser.press(started, "cancel"),
        }
    }

    /// `POST /v1/login/result`
    pub(crate) fn read(&self) -> Call {
        Call {
            step: Step::Read {
                key: KEY,
                by: Project::A,
                wrong: None,
            },
            request: Request::Backend(CONSUMER.result(&self.key())),
        }
    }

    /// `GET /authorize`
    pub(crate) fn authorize(&mut self, browser: &Browser) -> Call {
        self.upstream_logins += 1;
        let provider = self.history.provider.name();
        let url = CONSUMER.authorize_url(BASE_URL, provider, &self.transaction());
        Call {
            step: Step::Authorize {
                upstream_login: self.upstream_logins,
                by: browser.visitor,
                project: Project::A,
                at: self.history.provider,
            },
            request: Request::navigate(&url, &browser.cookies),
        }
    }

    /// `POST /v1/token`
    pub(crate) fn redeem(&self, upstream_login: u8, code: &str) -> Call {
        self.redeem_with(upstream_login, code, None, &self.transaction())
    }

    /// The same with another verifier.
    pub(crate) fn redeem_with_another_verifier(
        &self,
        upstream_login: u8,
        code: &str,
        random: &mut Random,
    ) -> Call {
        let other = random.legacy_login();
        self.redeem_with(upstream_login, code, Some(Wrong::Verifier), &other)
    }

    fn redeem_with(
        &self,
        upstream_login: u8,
        code: &str,
        wrong: Option<Wrong>,
        transaction: &LegacyLogin,
    ) -> Call {
        Call {
            step: Step::Redeem {
                upstream_login,
                by: Project::A,
                wrong,
            },
            request: Request::Backend(CONSUMER.redeem(code, &transaction.verifier)),
        }
    }

    /// Adds an operation to the history.
    pub(crate) fn record(&mut self, recorded: Recorded) -> Option<Response> {
        self.history.operations.push(recorded.operation);
        recorded.response
    }

    /// Sends the browser of `visit` to its provider, where `script` is played, and adds the
    /// sign-in. Returns the broker's callback, with the provider's answer.
    pub(crate) async fn sign_in(
        &mut self,
        providers: &Providers,
        recorder: &Recorder,
        visit: &UpstreamVisit,
        script: Script,
    ) -> Result<String, RunError> {
        let provider = self.history.provider;
        let sign_in = providers
            .sign_in(
                recorder,
                visit.upstream_login,
                &visit.provider_url,
                provider,
                script,
            )
            .await?;
        let callback_url = sign_in.callback_url.clone();
        self.record_sign_in(sign_in);
        Ok(callback_url)
    }

    /// Adds a sign-in at the provider.
    pub(crate) fn record_sign_in(&mut self, sign_in: SignIn) {
        let number = sign_in.upstream_login();
        self.history.users.insert(number, sign_in.user);
        self.history.operations.push(sign_in.operation);
    }

    fn key(&self) -> String {
        match &self.secrets {
            Secrets::Clean { key } => key.clone(),
            Secrets::Legacy(_) => unreachable!("a legacy login has no key"),
        }
    }

    fn transaction(&self) -> LegacyLogin {
        match &self.secrets {
            Secrets::Legacy(transaction) => transaction.clone(),
            Secrets::Clean { .. } => unreachable!("a clean login has no transaction"),
        }
    }
}

/// `GET /v1/profile`
pub(crate) fn profile(upstream_login: u8, token: &str) -> Call {
    Call {
        step: Step::Profile { upstream_login },
        request: Request::Backend(backend::Call::profile(token)),
    }
}

/// `POST /v1/revoke`
pub(crate) fn revoke(upstream_login: u8, token: &str) -> Call {
    Call {
        step: Step::Revoke { upstream_login },
        request: Request::Backend(backend::Call::revoke(token)),
    }
}

impl Started {
    /// The login that this call started, if it was answered so.
    pub(crate) fn by(call: &Call, response: &Response) -> Option<Self> {
        match call.step {
            Step::Start { login, .. } if response.status == 200 => Some(Self {
                login,
                authorization_url: response.text("authorization_url"),
            }),
            _ => None,
        }
    }
}

impl UpstreamVisit {
    /// The upstream login that this call of `browser` began, if it was answered so.
    pub(crate) fn by(call: &Call, browser: &Browser, response: &Response) -> Option<Self> {
        let (Step::Visit { upstream_login, .. } | Step::Authorize { upstream_login, .. }) =
            call.step
        else {
            return None;
        };
        let mut browser = browser.clone();
        let broker = Url::parse(BASE_URL).ok()?;
        browser.cookies.receive(&response.headers, &broker);
        response.leads_to_provider().then(|| Self {
            upstream_login,
            browser,
            provider_url: response.location.clone(),
        })
    }

    /// The delivery of the provider's answer to the broker's callback.
    pub(crate) fn deliver(&self, callback_url: &str) -> Call {
        Call {
            step: Step::Deliver {
                upstream_login: self.upstream_login,
                by: self.browser.visitor,
            },
            request: Request::navigate(callback_url, &self.browser.cookies),
        }
    }

    /// The same delivery by another browser, without any cookie.
    pub(crate) fn deliver_elsewhere(&self, callback_url: &str, other: &Browser) -> Call {
        Call {
            step: Step::Deliver {
                upstream_login: self.upstream_login,
                by: other.visitor,
            },
            request: Request::navigate(callback_url, &CookieJar::default()),
        }
    }
}

impl Browser {
    /// Whether the broker knows nothing of it yet.
    pub(crate) fn has_no_cookies(&self) -> bool {
        self.cookies.all().is_empty()
    }

    fn press(&self, started: &Started, button: &str) -> Request {
        let url = format!("{}/{button}", started.authorization_url);
        Request::press(&url, &self.cookies)
    }
}

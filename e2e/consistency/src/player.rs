//! The player of the model: the backends and browsers of one history, with real keys, states
//! and codes behind the numbers of its steps. It makes the request of each step, and keeps what
//! the response hands out.

use std::collections::BTreeMap;

use agent::backend::{self, Backend, LegacyLogin};
use agent::browser::CookieJar;
use agent::random::digest;

use crate::client::{BASE_URL, Request, Response, SECOND_CALLBACK, UNREGISTERED, base_url};
use checker::model::{Project, Step, Visitor, Wrong};

/// The secrets of one history, by the numbers of its steps.
pub struct Player {
    /// The backends of the projects.
    projects: Vec<Backend>,
    /// By the first login that was started with the key.
    keys: BTreeMap<u8, String>,
    authorization_urls: BTreeMap<u8, String>,
    upstream_logins: BTreeMap<u8, UpstreamValues>,
    browsers: BTreeMap<Visitor, CookieJar>,
}

/// The values of an upstream login, as far as it is.
#[derive(Default)]
struct UpstreamValues {
    /// The legacy flow's.
    transaction: Option<LegacyLogin>,
    visitor: Option<Visitor>,
    provider_url: Option<String>,
    callback_url: Option<String>,
    code: Option<String>,
    token: Option<String>,
}

impl Player {
    /// The player of a history that has not begun.
    pub fn new(projects: &[Backend]) -> Self {
        Self {
            projects: projects.to_vec(),
            keys: BTreeMap::new(),
            authorization_urls: BTreeMap::new(),
            upstream_logins: BTreeMap::new(),
            browsers: BTreeMap::new(),
        }
    }

    /// Gives a login the session key with which it is started, unless it has one.
    pub fn give_key(&mut self, login: u8, key: impl FnOnce() -> String) {
        self.keys.entry(login).or_insert_with(key);
    }

    /// Gives an upstream login the secrets with which the legacy flow begins it.
    pub fn give_transaction(&mut self, upstream_login: u8, transaction: LegacyLogin) {
        self.values_mut(upstream_login).transaction = Some(transaction);
    }

    /// The request that takes `step`.
    ///
    /// # Panics
    ///
    /// If it takes a value that no response has handed out.
    pub fn request(&self, step: Step) -> Request {
        match step {
            Step::Start {
                key, by, at, wrong, ..
            } => {
                let backend = self.backend(by, wrong, UNREGISTERED);
                Request::Backend(backend.start(&self.keys[&key], at.name()))
            }
            Step::Visit { login, by, .. } => self.navigate(&self.authorization_urls[&login], by),
            Step::VisitUnvouched { login, by } => {
                Request::typed(&self.authorization_urls[&login], &self.cookies(by))
            }
            Step::Continue { login, by, .. } => self.press("continue", login, by),
            Step::Cancel { login, by } => self.press("cancel", login, by),
            Step::Authorize {
                upstream_login,
                by,
                project,
                at,
            } => {
                let transaction = self.transaction(upstream_login);
                let backend = self.project(project);
                let url = backend.authorize_url(BASE_URL, at.name(), transaction);
                self.navigate(&url, by)
            }
            Step::SignIn { upstream_login, .. } => {
                let url = given(&self.values(upstream_login).provider_url);
                Request::navigate(url, &CookieJar::default())
            }
            Step::Deliver { upstream_login, by } => {
                let url = given(&self.values(upstream_login).callback_url);
                self.navigate(url, by)
            }
            Step::Read { key, by, wrong } => {
                let backend = self.backend(by, wrong, SECOND_CALLBACK);
                Request::Backend(backend.result(&self.keys[&key]))
            }
            Step::Redeem {
                upstream_login,
                by,
                wrong,
            } => {
                let backend = self.backend(by, wrong, SECOND_CALLBACK);
                let right = &self.transaction(upstream_login).verifier;
                let verifier = match wrong {
                    Some(Wrong::Verifier) => &digest(right),
                    _ => right,
                };
                let code = given(&self.values(upstream_login).code);
                Request::Backend(backend.redeem(code, verifier))
            }
            Step::Profile { upstream_login } => {
                let token = given(&self.values(upstream_login).token);
                Request::Backend(backend::Call::profile(token))
            }
            Step::Revoke { upstream_login } => {
                let token = given(&self.values(upstream_login).token);
                Request::Backend(backend::Call::revoke(token))
            }
        }
    }

    /// The press of a button on the confirmation page.
    fn press(&self, button: &str, login: u8, by: Visitor) -> Request {
        let url = format!("{}/{button}", self.authorization_urls[&login]);
        Request::press(&url, &self.cookies(by))
    }

    /// Keeps what the response to `step` handed out.
    pub fn keep(&mut self, step: Step, response: &Response) {
        if let (Some(upstream_login), Some(by)) = (step.begins(), step.by())
            && response.leads_to_provider()
        {
            let cookies = self.browsers.entry(by).or_default();
            cookies.receive(&response.headers, &base_url());
            let values = self.values_mut(upstream_login);
            values.visitor = Some(by);
            values.provider_url = Some(response.location.clone());
        }
        match step {
            Step::Start { login, .. } if response.status == 200 => {
                let url = response.text("authorization_url");
                self.authorization_urls.insert(login, url);
            }
            Step::SignIn { upstream_login, .. } => {
                self.values_mut(upstream_login).callback_url = Some(response.location.clone());
            }
            Step::Deliver { upstream_login, .. } => {
                let code = &mut self.values_mut(upstream_login).code;
                *code = code.take().or_else(|| response.code());
            }
            Step::Redeem { upstream_login, .. } if response.status == 200 => {
                let token = response.text("access_token");
                self.values_mut(upstream_login).token.get_or_insert(token);
            }
            _ => {}
        }
    }

    /// Whether the responses so far have handed out what a step takes.
    pub(crate) fn can_take(&self, step: Step) -> bool {
        let has = |number: &u8, value: fn(&UpstreamValues) -> &Option<String>| {
            let values = self.upstream_logins.get(number);
            values.is_some_and(|it| value(it).is_some())
        };
        match &step {
            Step::Visit { login, .. }
            | Step::VisitUnvouched { login, .. }
            | Step::Continue { login, .. }
            | Step::Cancel { login, .. } => self.authorization_urls.contains_key(login),
            Step::SignIn { upstream_login, .. } => has(upstream_login, |it| &it.provider_url),
            Step::Deliver { upstream_login, .. } => has(upstream_login, |it| &it.callback_url),
            Step::Redeem { upstream_login, .. } => has(upstream_login, |it| &it.code),
            Step::Profile { upstream_login } | Step::Revoke { upstream_login } => {
                has(upstream_login, |it| &it.token)
            }
            Step::Start { .. } | Step::Authorize { .. } => true,
            Step::Read { key, .. } => self.keys.contains_key(key),
        }
    }

    /// The session key of a login.
    pub(crate) fn key(&self, login: u8) -> &str {
        &self.keys[&login]
    }

    /// Whether the broker has given no cookie to a visitor.
    pub(crate) fn has_no_cookies(&self, visitor: Visitor) -> bool {
        !self.browsers.contains_key(&visitor)
    }

    /// The visitor in whose browser an upstream login has begun.
    pub(crate) fn visitor(&self, upstream_login: u8) -> Visitor {
        *given(&self.values(upstream_login).visitor)
    }

    /// The secrets that a consumer keeps of a legacy upstream login.
    ///
    /// # Panics
    ///
    /// If it has none.
    pub fn transaction(&self, upstream_login: u8) -> &LegacyLogin {
        given(&self.values(upstream_login).transaction)
    }

    /// The backend of a project.
    pub fn project(&self, project: Project) -> &Backend {
        &self.projects[project as usize]
    }

    /// The same, with what it gets wrong: every project has [`SECOND_CALLBACK`], too.
    fn backend(&self, project: Project, wrong: Option<Wrong>, wrong_callback: &str) -> Backend {
        let mut backend = self.project(project).clone();
        match wrong {
            Some(Wrong::Secret) => backend.client_secret = digest(&backend.client_secret),
            Some(Wrong::Callback) => backend.callback = wrong_callback.to_owned(),
            Some(Wrong::Verifier) | None => {}
        }
        backend
    }

    fn navigate(&self, url: &str, by: Visitor) -> Request {
        let cookies = self.cookies(by);
        match by {
            Visitor::Browser(_) => Request::navigate(url, &cookies),
            Visitor::Curl => Request::fetch(url, &cookies),
        }
    }

    fn cookies(&self, visitor: Visitor) -> CookieJar {
        self.browsers.get(&visitor).cloned().unwrap_or_default()
    }

    fn values(&self, upstream_login: u8) -> &UpstreamValues {
        &self.upstream_logins[&upstream_login]
    }

    fn values_mut(&mut self, upstream_login: u8) -> &mut UpstreamValues {
        self.upstream_logins.entry(upstream_login).or_default()
    }
}

fn given<T>(value: &Option<T>) -> &T {
    value
        .as_ref()
        .expect("an earlier response has handed it out")
}

//! The sign-in between a valid authorization request and its callback: the queue, the
//! mode, the last time or a choice on the page decides which user signs in.

use super::authorization::{AuthorizationRequest, Grant, RequestDetails};
use super::context::ProviderContext;
use super::pages::{self, HomePage, LAST_TIME, OTHER, Problem, SignInPage};
use super::remembered::{Remembered, RememberedUsers};
use crate::expiring_store::ExpiringStore;
use crate::http::{Params, Request, Response};
use crate::script::SignInScript;
use crate::system::{URL_SAFE, random_string};
use crate::users::{InvalidUser, Visibility};
use crate::{Misbehaviour, Mode, Provider, User};

/// The path that receives the page's forms. The real providers have no such path.
pub(crate) const PATH: &str = "/mock/sign-in";

/// The path of the home page.
pub(crate) const HOME_PATH: &str = "/";

/// The path that forgets the user of the last time.
pub(crate) const FORGET_PATH: &str = "/mock/forget";

/// The lifetime of a page. It is longer than the lifetime of the app's own login, as at the
/// real providers: whose page stays open too long is refused by the app, and not here.
const PAGE_LIFETIME_MS: i64 = 60 * 60 * 1000;

/// The state of a sign-in after its authorization request.
pub(crate) enum SignIn<D> {
    /// The queue, the mode or the last time decided.
    Decided(Grant<D>),
    /// A user has to choose.
    Undecided(AuthorizationRequest<D>),
}

/// The sign-ins of a provider: those that wait for a choice on their page, the choices that
/// browsers repeat, and the codes of those that are decided.
///
/// The page carries a handle instead of the request: a browser can change nothing that
/// was checked.
pub(crate) struct SignIns<D> {
    pages: ExpiringStore<AuthorizationRequest<D>>,
    /// The origins of the redirect URIs, for pages that are over.
    origins: ExpiringStore<Option<String>>,
    remembered: RememberedUsers,
    codes: ExpiringStore<Grant<D>>,
}

impl<D: RequestDetails> SignIns<D> {
    pub(crate) fn new() -> Self {
        Self {
            pages: ExpiringStore::new(),
            origins: ExpiringStore::new(),
            remembered: RememberedUsers::new(),
            codes: ExpiringStore::new(),
        }
    }

    /// Begins the sign-in of `request`, which the browser sent as `http`: the queue decides,
    /// then the mode, then the last time.
    pub(crate) fn begin(
        &self,
        context: &ProviderContext,
        http: &Request,
        request: AuthorizationRequest<D>,
    ) -> SignIn<D> {
        let provider = context.provider;
        let label = request.state.as_deref();
        let label = label.and_then(|state| context.labels.of(state));
        let (next, mode) = {
            let mut controls = context.controls();
            let next = controls.take(|entry| entry.is_for(label.as_deref()));
            (next, controls.mode)
        };
        let script = match (next, mode) {
            (Some(queued), _) => SignInScript::from_next(queued.next, provider),
            (None, Mode::Automatic) => SignInScript::default_at(provider),
            (None, Mode::Interactive) => match self.remembered.of(http) {
                Some(last) if !request.wants_page => SignInScript::of(last.user),
                _ => return SignIn::Undecided(request),
            },
        };
        SignIn::Decided(Grant { request, script })
    }

    /// Shows the page, and keeps `request` until a choice is made there.
    pub(crate) fn page(
        &self,
        context: &ProviderContext,
        http: &Request,
        request: AuthorizationRequest<D>,
    ) -> Response {
        let handle = random_string(URL_SAFE, 43);
        let last_time = self.remembered.of(http);
        let page = page(context, &handle, &request, last_time.as_ref(), None);
        let expires_ms = context.now_ms() + PAGE_LIFETIME_MS;
        let origin = request.redirect_uri.origin();
        self.origins.put(handle.clone(), Some(origin), i64::MAX);
        self.pages.put(handle, request, expires_ms);
        page
    }

    /// Reads the page's form, and redirects to the callback of the choice. An invalid one
    /// shows the page again, and the sign-in stays pending.
    pub(crate) fn choose(
        &self,
        context: &ProviderContext,
        http: &Request,
        callback: impl FnOnce(Grant<D>) -> String,
    ) -> Response {
        let form = http.form();
        let handle = form.get("request").unwrap_or_default();
        let now_ms = context.now_ms();
        let last_time = self.remembered.of(http);
        let last_time = last_time.as_ref();
        let choice = self.pages.read(handle, now_ms, |request| {
            Choice::parse(context, form, last_time)
                .map_err(|problem| page(context, handle, request, last_time, Some(&problem)))
        });
        let choice = match choice {
            Some(Ok(choice)) => choice,
            Some(Err(page)) => return page,
            None => return self.over(context, handle),
        };
        // Another choice may have been faster.
        let Some(request) = self.pages.take(handle, now_ms) else {
            return self.over(context, handle);
        };
        let set_cookie = self.remember(http, &choice);
        let script = choice.into_script(context.provider);
        Response::see_other(callback(Grant { request, script })).with_cookie(set_cookie)
    }

    /// Remembers or forgets the user of a choice; a misbehaviour leaves the last time as
    /// it is.
    fn remember(&self, http: &Request, choice: &Choice) -> Option<String> {
        let Choice::User(remembered) = choice else {
            return None;
        };
        match http.form().get("again") {
            Some(_) => Some(self.remembered.remember(http, remembered.clone())),
            None => {
                self.remembered.forget(http);
                None
            }
        }
    }

    fn over(&self, context: &ProviderContext, handle: &str) -> Response {
        let origin = self.origins.read(handle, 0, Option::clone).flatten();
        let back = context.app_url().or(origin.as_deref());
        pages::sign_in_over(context.provider, back)
    }

    /// Keeps a grant under its `code`.
    pub(crate) fn issue(&self, code: String, grant: Grant<D>, expires_ms: i64) {
        self.codes.put(code, grant, expires_ms);
    }

    /// Takes the grant of a code, unless it is another client's.
    pub(crate) fn redeem(&self, code: &str, client_id: &str, now_ms: i64) -> Option<Grant<D>> {
        let grant = self.codes.take(code, now_ms);
        grant.filter(|grant| grant.request.client.client_id() == client_id)
    }

    /// Forgets the user whom the browser signs in again.
    pub(crate) fn forget(&self, http: &Request) -> Response {
        self.remembered.forget(http);
        Response::see_other(HOME_PATH)
    }

    /// The home page, which the real provider does not have.
    pub(crate) fn home(
        &self,
        context: &ProviderContext,
        http: &Request,
        urls: &[(&'static str, String)],
    ) -> Response {
        let last_time = self.remembered.of(http);
        let controls = context.controls();
        pages::home(&HomePage {
            provider: context.provider,
            mode: controls.mode,
            app_url: context.app_url(),
            forget_path: FORGET_PATH,
            rows: &pages::rows(context.provider, &context.users, last_time.as_ref()),
            queue: &controls.queue,
            urls,
        })
    }

    pub(crate) fn clear(&self) {
        self.pages.clear();
        self.origins.clear();
        self.remembered.clear();
        self.codes.clear();
    }

    pub(crate) fn bytes_held(&self) -> usize {
        let pages = self.pages.bytes_held() + self.origins.bytes_held();
        pages + self.remembered.bytes_held() + self.codes.bytes_held()
    }
}

fn page(
    context: &ProviderContext,
    handle: &str,
    request: &AuthorizationRequest<impl RequestDetails>,
    last_time: Option<&Remembered>,
    problem: Option<&Problem<'_>>,
) -> Response {
    pages::sign_in(&SignInPage {
        provider: context.provider,
        action: PATH,
        handle,
        client: request.client.name(),
        callback_host: request.redirect_uri.host(),
        permissions: &request.details.permissions(),
        rows: &pages::rows(context.provider, &context.users, last_time),
        problem,
    })
}

/// A choice on the page.
enum Choice {
    User(Remembered),
    Misbehave(Misbehaviour),
}

impl Choice {
    /// The choice in a form: a misbehaviour, a known user, the user of the last time, or
    /// the fields of another user.
    fn parse<'a>(
        context: &ProviderContext,
        form: &'a Params,
        last_time: Option<&Remembered>,
    ) -> Result<Self, Problem<'a>> {
        let provider = context.provider;
        let chosen = match (form.get("misbehave"), form.get("person")) {
            (Some(name), _) => {
                return Misbehaviour::parse(provider, name)
                    .map(Self::Misbehave)
                    .map_err(|error| Problem::new(error.to_string()));
            }
            (None, Some(OTHER)) => Some(Remembered {
                key: None,
                user: user(provider, form).map_err(|error| Problem::of_form(form, error))?,
            }),
            (None, Some(LAST_TIME)) => last_time.cloned(),
            (None, key) => {
                let key = key.unwrap_or_default();
                let user = context.users.find(provider, key).cloned();
                user.map(|user| Remembered {
                    key: Some(key.to_owned()),
                    user,
                })
            }
        };
        let choose_one = || Problem::new("Choose an account.".to_owned());
        chosen.map(Self::User).ok_or_else(choose_one)
    }

    fn into_script(self, provider: Provider) -> SignInScript {
        match self {
            Self::User(remembered) => SignInScript::of(remembered.user),
            Self::Misbehave(misbehaviour) => SignInScript::misbehaving(misbehaviour, provider),
        }
    }
}

/// The user in the form for an account that is none of the known users.
fn user(provider: Provider, form: &Params) -> Result<User, InvalidUser> {
    let field = |name| form.get(name).map(str::to_owned);
    let user = User {
        id: field("id").ok_or(InvalidUser::NoId)?,
        name: field("name"),
        username: field("username"),
        email: field("email"),
        email_verified: form.get("email_verified").is_some(),
        visibility: Visibility::from_email_private(form.get("email_private").is_some()),
        picture: field("picture"),
        ..User::default()
    };
    user.check_for(provider).map(|()| user)
}

//! The sign-in between a valid authorization request and its callback: the queue, the
//! mode, the last time or a choice on the page decides which user signs in.

use super::account_form::{self, AccountForm};
use super::pages::{self, HomePage, LAST_TIME, OTHER, Permission, SignInPage};
use super::remembered::{Remembered, RememberedUsers};
use super::{ExpiringStore, HeapSize, ProviderContext};
use crate::http::{Params, Request, Response};
use crate::script::SignInScript;
use crate::settings::RedirectUri;
use crate::users::InvalidUser;
use crate::{Client, Misbehaviour, Mode, random};

/// The path that receives the page's forms. The real providers have no such path.
pub(crate) const PATH: &str = "/mock/sign-in";

/// The path of the home page.
pub(crate) const HOME_PATH: &str = "/";

/// The path that forgets the user of the last time.
pub(crate) const FORGET_PATH: &str = "/mock/forget";

/// The lifetime of a page. It is longer than the lifetime of the app's own login, as at the
/// real providers: whose page stays open too long is refused by the app, and not here.
const PAGE_LIFETIME_MS: i64 = 60 * 60 * 1000;

/// An authorization request that passed every check.
pub(crate) trait CheckedRequest: HeapSize {
    fn client(&self) -> &Client;

    fn redirect_uri(&self) -> &RedirectUri;

    fn state(&self) -> Option<&str>;

    /// The permissions that the page lists.
    fn permissions(&self) -> Vec<Permission>;

    /// Whether the client wants the page to be shown, also to a user of the last time.
    fn wants_page(&self) -> bool;
}

/// The state of a sign-in after its authorization request.
pub(crate) enum SignIn<R> {
    /// The queue, the mode or the last time decided.
    Decided(R, SignInScript),
    /// A user has to choose.
    Undecided(R),
}

/// The request of a sign-in, and the choice on its page.
pub(crate) struct Chosen<R> {
    pub(crate) request: R,
    pub(crate) script: SignInScript,
    /// The cookie of a browser that signs the user in again.
    pub(crate) set_cookie: Option<String>,
}

/// The sign-ins that wait for a choice on their page, and the choices that browsers repeat.
///
/// The page carries a handle instead of the request: a browser can change nothing that
/// was checked.
pub(crate) struct PendingSignIns<R> {
    pages: ExpiringStore<R>,
    /// The origins of the redirect URIs, for pages that are over.
    origins: ExpiringStore<Option<String>>,
    remembered: RememberedUsers,
}

impl<R: CheckedRequest> PendingSignIns<R> {
    pub(crate) fn new() -> Self {
        Self {
            pages: ExpiringStore::new(),
            origins: ExpiringStore::new(),
            remembered: RememberedUsers::new(),
        }
    }

    /// Begins the sign-in of `request`, which the browser sent as `http`: the queue decides,
    /// then the mode, then the last time.
    pub(crate) fn begin(&self, context: &ProviderContext, http: &Request, request: R) -> SignIn<R> {
        let provider = context.provider;
        let label = request.state().and_then(|state| context.labels.of(state));
        let next = context.controls.take_next(label.as_deref());
        match (next, context.controls.mode()) {
            (Some(next), _) => SignIn::Decided(request, SignInScript::from_next(next, provider)),
            (None, Mode::Automatic) => SignIn::Decided(request, SignInScript::default_at(provider)),
            (None, Mode::Interactive) => match self.remembered.of(http) {
                Some(last) if !request.wants_page() => {
                    SignIn::Decided(request, SignInScript::of(last.user))
                }
                _ => SignIn::Undecided(request),
            },
        }
    }

    /// Shows the page, and keeps `request` until a choice is made there.
    pub(crate) fn page(&self, context: &ProviderContext, http: &Request, request: R) -> Response {
        let handle = random::url_safe(43);
        let last_time = self.remembered.of(http);
        let page = page(context, &handle, &request, last_time.as_ref(), None);
        let expires_ms = context.now_ms() + PAGE_LIFETIME_MS;
        let origin = request.redirect_uri().origin();
        self.origins.put(handle.clone(), Some(origin), i64::MAX);
        self.pages.put(handle, request, expires_ms);
        page
    }

    /// Reads the page's form. An invalid choice shows the page again, and the sign-in
    /// stays pending.
    pub(crate) fn choose(
        &self,
        context: &ProviderContext,
        http: &Request,
    ) -> Result<Chosen<R>, Response> {
        let form = http.form();
        let handle = form.get("request").unwrap_or_default();
        let now_ms = context.now_ms();
        let last_time = self.remembered.of(http);
        let last_time = last_time.as_ref();
        let over = || self.over(context, handle);
        let choice = self
            .pages
            .read(handle, now_ms, |request| {
                Choice::parse(context, form, last_time)
                    .map_err(|problem| page(context, handle, request, last_time, Some(&problem)))
            })
            .ok_or_else(over)??;
        let request = self.pages.take(handle, now_ms).ok_or_else(over)?;
        Ok(Chosen {
            request,
            set_cookie: self.remember(http, &choice),
            script: choice.into_script(context),
        })
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
        pages::home(&HomePage {
            provider: context.provider,
            mode: context.controls.mode(),
            app_url: context.app_url(),
            forget_path: FORGET_PATH,
            rows: &pages::rows(context.provider, &context.users, last_time.as_ref()),
            queue: &context.controls.queued(),
            urls,
        })
    }

    pub(crate) fn clear(&self) {
        self.pages.clear();
        self.origins.clear();
        self.remembered.clear();
    }

    pub(crate) fn bytes_held(&self) -> usize {
        self.pages.bytes_held() + self.origins.bytes_held() + self.remembered.bytes_held()
    }
}

fn page(
    context: &ProviderContext,
    handle: &str,
    request: &impl CheckedRequest,
    last_time: Option<&Remembered>,
    problem: Option<&Problem<'_>>,
) -> Response {
    pages::sign_in(&SignInPage {
        provider: context.provider,
        action: PATH,
        handle,
        client: request.client().name(),
        callback_host: request.redirect_uri().host(),
        permissions: &request.permissions(),
        rows: &pages::rows(context.provider, &context.users, last_time),
        form: problem.map_or(&AccountForm::empty(), |problem| &problem.form),
        problem: problem.map(|problem| problem.message.as_str()),
    })
}

/// A choice on the page.
enum Choice {
    User(Remembered),
    Misbehave(Misbehaviour),
}

/// The reason why a choice is invalid, and the form as it was sent.
struct Problem<'a> {
    message: String,
    form: AccountForm<'a>,
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
        match (form.get("misbehave"), form.get("person")) {
            (Some(name), _) => Misbehaviour::parse(provider, name)
                .map(Self::Misbehave)
                .map_err(|error| Problem::of_the_choice(error.to_string())),
            (None, Some(OTHER)) => account_form::user(provider, form)
                .map(|user| Self::User(Remembered { key: None, user }))
                .map_err(|error| Problem::of_the_form(form, error)),
            (None, Some(LAST_TIME)) => last_time.cloned().map(Self::User).ok_or_else(choose_one),
            (None, key) => {
                let key = key.unwrap_or_default();
                let user = context.users.find(provider, key).ok_or_else(choose_one)?;
                Ok(Self::User(Remembered {
                    key: Some(key.to_owned()),
                    user: user.clone(),
                }))
            }
        }
    }

    fn into_script(self, context: &ProviderContext) -> SignInScript {
        match self {
            Self::User(remembered) => SignInScript::of(remembered.user),
            Self::Misbehave(misbehaviour) => {
                SignInScript::misbehaving(misbehaviour, context.provider)
            }
        }
    }
}

impl<'a> Problem<'a> {
    fn of_the_choice(message: String) -> Self {
        Self {
            message,
            form: AccountForm::empty(),
        }
    }

    fn of_the_form(form: &'a Params, error: InvalidUser) -> Self {
        Self {
            message: "This account cannot sign in. Correct the field that is marked below."
                .to_owned(),
            form: AccountForm::refused(form, error),
        }
    }
}

fn choose_one<'a>() -> Problem<'a> {
    Problem::of_the_choice("Choose an account.".to_owned())
}

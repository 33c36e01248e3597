//! The sign-in between a valid authorization request and its callback: the queue, the
//! mode, the last time or a choice on the page decides which user signs in.

use super::authorization::{AuthorizationRequest, ChoicePage, Grant, RequestDetails};
use super::choice::{self, Choice, Remembered, RememberedUsers};
use super::context::{ProviderContext, SignInScript};
use super::pages::{self, HomePage, Problem, SignInPage};
use crate::Mode;
use crate::expiring_store::ExpiringStore;
use crate::http::{Request, Response};
use crate::system::{URL_SAFE, random_string};

/// The lifetime of a page. It is longer than the lifetime of the app's own login, as at the
/// real providers: whose page stays open too long is refused by the app, and not here.
const PAGE_LIFETIME_MS: i64 = 60 * 60 * 1000;

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
            pages: ExpiringStore::default(),
            origins: ExpiringStore::default(),
            remembered: RememberedUsers::default(),
            codes: ExpiringStore::default(),
        }
    }

    /// The script of a sign-in, which the browser began with `http`, as the queue decides, then
    /// the mode, then the last time; `None` if a user has to choose.
    pub(crate) fn script_of(
        &self,
        context: &ProviderContext,
        http: &Request,
        request: &AuthorizationRequest<D>,
    ) -> Option<SignInScript> {
        let (client_id, state) = (request.client.client_id(), request.state.as_deref());
        let label = context.labels.of(client_id, state);
        let (next, mode) = {
            let mut controls = context.controls();
            let next = controls.take(|entry| entry.is_for(label.as_deref()));
            (next, controls.mode)
        };
        match (next, mode) {
            (Some(queued), _) => {
                let script = SignInScript::from_next(queued.next, context.provider);
                context
                    .journal
                    .note_misbehaviour(request.state.as_deref(), script.misbehaviour);
                Some(script)
            }
            (None, Mode::Automatic) => Some(SignInScript::default_at(context.provider)),
            (None, Mode::Interactive) if matches!(request.page, ChoicePage::Always) => None,
            (None, Mode::Interactive) => {
                let last_time = self.remembered.of(http)?;
                Some(SignInScript::of(last_time.user))
            }
        }
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
        let form = &http.form;
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
        context
            .journal
            .note_misbehaviour(request.state.as_deref(), script.misbehaviour);
        Response::redirect(303, callback(Grant { request, script }))
            .with_optional_header("set-cookie", set_cookie)
    }

    /// Remembers or forgets the user of a choice; a misbehaviour leaves the last time as
    /// it is.
    fn remember(&self, http: &Request, choice: &Choice) -> Option<String> {
        let Choice::User(remembered) = choice else {
            return None;
        };
        match http.form.get("again") {
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
        Response::redirect(303, pages::HOME_PATH)
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
            rows: &choice::rows(context.provider, &context.users, last_time.as_ref()),
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
        handle,
        client: request.client.name(),
        callback_host: request.redirect_uri.host(),
        permissions: &request.details.permissions(),
        rows: &choice::rows(context.provider, &context.users, last_time),
        problem,
    })
}

//! The sign-in between a valid authorization request and its callback: the queue, the
//! mode or a choice on the page decides which user signs in.

use super::pages::{self, SignInPage};
use super::{ExpiringStore, HeapSize, ProviderContext};
use crate::http::{Params, Response};
use crate::script::SignInScript;
use crate::settings::RedirectUri;
use crate::users::{InvalidUser, Visibility};
use crate::{Misbehaviour, Mode, Provider, User, random};

/// The path that receives the page's forms. The real providers have no such path.
pub(crate) const PATH: &str = "/mock/sign-in";

/// The lifetime of a page. It is longer than the lifetime of the app's own login, as at the
/// real providers: whose page stays open too long is refused by the app, and not here.
const PAGE_LIFETIME_MS: i64 = 60 * 60 * 1000;

/// An authorization request that passed every check.
pub(crate) trait CheckedRequest: HeapSize {
    fn redirect_uri(&self) -> &RedirectUri;

    fn state(&self) -> Option<&str>;

    /// The requested scope, as the page shows it.
    fn scope(&self) -> String;
}

/// The state of a sign-in after its authorization request.
pub(crate) enum SignIn<R> {
    /// The queue or the mode decided.
    Decided(R, SignInScript),
    /// A user has to choose.
    Undecided(R),
}

impl<R: CheckedRequest> SignIn<R> {
    /// Begins a sign-in: the queue decides, then the mode.
    pub(crate) fn begin(context: &ProviderContext, request: R) -> Self {
        let provider = context.provider;
        let label = request.state().and_then(|state| context.labels.of(state));
        let next = context.controls.take_next(label.as_deref());
        match (next, context.controls.mode()) {
            (Some(next), _) => Self::Decided(request, SignInScript::from_next(next, provider)),
            (None, Mode::Automatic) => Self::Decided(request, SignInScript::default_at(provider)),
            (None, Mode::Interactive) => Self::Undecided(request),
        }
    }
}

/// The sign-ins that wait for a choice on their page.
///
/// The page carries a handle instead of the request: a browser can change nothing that
/// was checked.
pub(crate) struct PendingSignIns<R>(ExpiringStore<R>);

impl<R: CheckedRequest> PendingSignIns<R> {
    pub(crate) fn new() -> Self {
        Self(ExpiringStore::new())
    }

    /// Shows the page, and keeps `request` until a choice is made there.
    pub(crate) fn page(&self, context: &ProviderContext, request: R) -> Response {
        let handle = random::url_safe(43);
        let page = page(context, &handle, &request, None);
        let expires_ms = context.now_ms() + PAGE_LIFETIME_MS;
        self.0.put(handle, request, expires_ms);
        page
    }

    /// Reads the page's form. An invalid choice shows the page again, and the sign-in
    /// stays pending.
    pub(crate) fn choose(
        &self,
        context: &ProviderContext,
        form: &Params,
    ) -> Result<(R, SignInScript), Response> {
        let handle = form.get("request").unwrap_or_default();
        let now_ms = context.now_ms();
        let over = || pages::sign_in_over(context.provider);
        let script = self
            .0
            .read(handle, now_ms, |request| {
                chosen(context, form)
                    .map_err(|problem| page(context, handle, request, Some(&problem)))
            })
            .ok_or_else(over)??;
        let request = self.0.take(handle, now_ms).ok_or_else(over)?;
        Ok((request, script))
    }

    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    pub(crate) fn bytes_held(&self) -> usize {
        self.0.bytes_held()
    }
}

fn page(
    context: &ProviderContext,
    handle: &str,
    request: &impl CheckedRequest,
    problem: Option<&str>,
) -> Response {
    pages::sign_in(&SignInPage {
        provider: context.provider,
        action: PATH,
        handle,
        client_id: context.client.client_id(),
        callback_host: request.redirect_uri().host(),
        scope: &request.scope(),
        users: &context.users,
        misbehaviours: &Misbehaviour::grouped(context.provider),
        problem,
    })
}

/// The choice in a form: a misbehaviour, a known user, or the fields of another user.
fn chosen(context: &ProviderContext, form: &Params) -> Result<SignInScript, String> {
    let provider = context.provider;
    match (form.get("misbehave"), form.get("person")) {
        (Some(name), _) => Misbehaviour::parse(provider, name)
            .map(|misbehaviour| SignInScript::misbehaving(misbehaviour, provider))
            .map_err(|error| error.to_string()),
        (None, Some("other")) => other_user(provider, form)
            .map(SignInScript::of)
            .map_err(|error| error.to_string()),
        (None, key) => context
            .users
            .find(provider, key.unwrap_or_default())
            .map(|user| SignInScript::of(user.clone()))
            .ok_or_else(|| "Choose an account.".to_owned()),
    }
}

fn other_user(provider: Provider, form: &Params) -> Result<User, InvalidUser> {
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

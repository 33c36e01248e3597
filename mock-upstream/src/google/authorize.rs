//! The authorization endpoint and its callback.

use super::{Google, Grant, Scopes};
use crate::answer::Answer;
use crate::call::{Call, Params};
use crate::desk::Desk;
use crate::pkce::Challenge;
use crate::settings::RedirectUri;
use crate::shelf::Content;
use crate::sign_in::{Cast, Request, Step};
use crate::{Client, Misbehaviour, Person, Provider, chance, pages};

/// How a code begins. Mind the slash: it is not base64url.
pub(super) const CODE_PREFIX: &str = "4/0A";

/// What a broker asked for, checked.
#[derive(Clone)]
pub(super) struct AuthorizationRequest {
    pub(super) redirect_uri: RedirectUri,
    pub(super) scopes: Scopes,
    pub(super) nonce: Option<String>,
    pub(super) challenge: Option<Challenge>,
    /// Whether a refresh token is asked for.
    pub(super) is_offline: bool,
    prompt: Prompt,
    state: Option<String>,
}

/// What the person is to be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prompt {
    /// What Google thinks fit, or which account.
    Usual,
    /// Nothing: who is not signed in already, does not sign in.
    Nothing,
    /// Whether they agree, even if they did before.
    Consent,
}

/// How the person came to agree, which `prompt` echoes in the callback.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    Silent,
    OnThePage,
}

/// A request that Google shows an error page for: no browser comes back.
enum Refusal {
    Doubled,
    Missing(&'static str),
    Invalid(&'static str),
    UnknownClient,
    RedirectUriMismatch,
    UnsupportedResponseType,
    InvalidScope,
    UnusableChallenge,
}

impl Google {
    pub(super) fn authorize(&self, call: &Call) -> Answer {
        let request = match AuthorizationRequest::parse(call.query(), &self.desk.client) {
            Ok(request) => request,
            Err(refusal) => return refusal.page(),
        };
        let silent = (request.prompt == Prompt::Nothing).then(|| request.clone());
        match (self.sign_ins.begin(&self.desk, request), silent) {
            (Step::Decided(request, cast), _) => {
                let consent = request.prompt.consent();
                Answer::found(self.callback(request, cast, consent))
            }
            (Step::Ask(_), Some(request)) => {
                let error = self.desk.unconfirmed.google_prompt_none_error;
                Answer::found(request.failure(error, &self.desk))
            }
            (Step::Ask(page), None) => page,
        }
    }

    pub(super) fn choose(&self, call: &Call) -> Answer {
        match self.sign_ins.choose(&self.desk, call.form()) {
            Ok((request, cast)) => {
                Answer::see_other(self.callback(request, cast, Consent::OnThePage))
            }
            Err(page) => page,
        }
    }

    fn callback(&self, request: AuthorizationRequest, cast: Cast, consent: Consent) -> String {
        match cast.misbehaviour {
            Some(Misbehaviour::Deny) => request.failure("access_denied", &self.desk),
            Some(Misbehaviour::ServerError) => request.failure("server_error", &self.desk),
            Some(Misbehaviour::TemporarilyUnavailable) => {
                request.failure("temporarily_unavailable", &self.desk)
            }
            Some(Misbehaviour::NoCode) => request.nothing(),
            _ => {
                let code = format!("{CODE_PREFIX}{}", chance::url_safe(70));
                let iss = self.desk.iss_of_success(&self.desk.url, cast.misbehaviour);
                let callback = request.success(&code, consent, iss, &cast.person);
                let lifetime_seconds = self.desk.unconfirmed.google_code_lifetime_seconds;
                let ends_ms = self.desk.now_ms() + i64::from(lifetime_seconds) * 1000;
                let grant = Grant {
                    request,
                    cast,
                    consent,
                };
                self.codes.put(code, grant, ends_ms);
                callback
            }
        }
    }
}

impl Content for AuthorizationRequest {
    fn heap_bytes(&self) -> usize {
        self.nonce.heap_bytes() + self.state.heap_bytes()
    }
}

impl AuthorizationRequest {
    fn parse(query: &Params, client: &Client) -> Result<Self, Refusal> {
        let required = |name| query.get(name).ok_or(Refusal::Missing(name));
        if query.has_doubles() {
            return Err(Refusal::Doubled);
        }
        if !client.is(required("client_id")?) {
            return Err(Refusal::UnknownClient);
        }
        let redirect_uri = client
            .redirect_uri(required("redirect_uri")?)
            .ok_or(Refusal::RedirectUriMismatch)?;
        if required("response_type")? != "code" {
            return Err(Refusal::UnsupportedResponseType);
        }
        Ok(Self {
            redirect_uri: redirect_uri.clone(),
            scopes: Scopes::parse(required("scope")?).ok_or(Refusal::InvalidScope)?,
            nonce: query.get("nonce").map(str::to_owned),
            challenge: challenge(query)?,
            is_offline: is_offline(query)?,
            prompt: Prompt::parse(query.get("prompt").unwrap_or_default())?,
            state: query.get("state").map(str::to_owned),
        })
    }

    /// In Google's order: state, iss, code, scope, authuser, hd, prompt.
    fn success(&self, code: &str, consent: Consent, iss: Option<&str>, person: &Person) -> String {
        let scope = self.scopes.in_callback();
        let prompt = match consent {
            Consent::Silent => "none",
            Consent::OnThePage => "consent",
        };
        let hd = person.hosted_domain.as_deref();
        let authuser = if hd.is_some() { "1" } else { "0" };
        let known = [("code", code), ("scope", &scope), ("authuser", authuser)];
        let hd = hd.map(|hd| ("hd", hd));
        let state = self.state.as_deref().map(|state| ("state", state));
        let iss = iss.map(|iss| ("iss", iss));
        self.redirect_uri.with(
            state
                .into_iter()
                .chain(iss)
                .chain(known)
                .chain(hd)
                .chain([("prompt", prompt)]),
        )
    }

    /// The state alone.
    fn nothing(&self) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        self.redirect_uri.with(state)
    }

    /// Without a description: Google was seen to send none.
    fn failure(&self, error: &str, desk: &Desk) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let iss = desk.iss_on_error(&desk.url).map(|iss| ("iss", iss));
        self.redirect_uri
            .with([("error", error)].into_iter().chain(state).chain(iss))
    }
}

/// `access_type`: with `offline`, access goes on when the person is away.
fn is_offline(query: &Params) -> Result<bool, Refusal> {
    match query.get("access_type") {
        None | Some("online") => Ok(false),
        Some("offline") => Ok(true),
        Some(_) => Err(Refusal::Invalid("access_type")),
    }
}

impl Prompt {
    /// Words with blanks between them, case-sensitive; `none` stands alone.
    fn parse(words: &str) -> Result<Self, Refusal> {
        let words: Vec<_> = words.split_whitespace().collect();
        let is_known = |word: &&str| matches!(*word, "consent" | "select_account");
        match words.as_slice() {
            ["none"] => Ok(Self::Nothing),
            words if !words.iter().all(is_known) => Err(Refusal::Invalid("prompt")),
            words if words.contains(&"consent") => Ok(Self::Consent),
            _ => Ok(Self::Usual),
        }
    }

    /// What the callback echoes when no page was shown.
    fn consent(self) -> Consent {
        match self {
            Self::Consent => Consent::OnThePage,
            Self::Usual | Self::Nothing => Consent::Silent,
        }
    }
}

/// Google would take `plain` too; the mock does not, lest a broker falls back to
/// it unnoticed.
fn challenge(query: &Params) -> Result<Option<Challenge>, Refusal> {
    let method = query.get("code_challenge_method");
    Challenge::parse(query.get("code_challenge"), method).map_err(|_| Refusal::UnusableChallenge)
}

impl Request for AuthorizationRequest {
    fn redirect_uri(&self) -> &RedirectUri {
        &self.redirect_uri
    }

    fn scope(&self) -> String {
        self.scopes.in_token_answer()
    }
}

impl Refusal {
    fn page(self) -> Answer {
        let (error, says) = self.words();
        pages::blocked(Provider::Google, &format!("Error 400: {error}"), &says)
    }

    fn words(self) -> (&'static str, String) {
        match self {
            Self::Doubled => (
                "invalid_request",
                "OAuth 2 parameters can only have a single value.".to_owned(),
            ),
            Self::Missing(name) => (
                "invalid_request",
                format!("Missing required parameter: {name}"),
            ),
            Self::Invalid(name) => (
                "invalid_request",
                format!("Invalid parameter value for {name}"),
            ),
            Self::UnknownClient => (
                "invalid_client",
                "The OAuth client was not found.".to_owned(),
            ),
            Self::RedirectUriMismatch => (
                "redirect_uri_mismatch",
                "The redirect URI is not one of those registered for this client.".to_owned(),
            ),
            Self::UnsupportedResponseType => (
                "unsupported_response_type",
                "This mock serves response_type=code alone.".to_owned(),
            ),
            Self::InvalidScope => (
                "invalid_scope",
                "This mock knows the scopes openid, email and profile.".to_owned(),
            ),
            Self::UnusableChallenge => (
                "invalid_request",
                "code_challenge must be 43 characters with code_challenge_method=S256.".to_owned(),
            ),
        }
    }
}

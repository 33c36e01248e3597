//! `GET /authorize`, without following its redirects. The specification does not show
//! its parameters: all of this is this kit's choice.

use url::form_urlencoded::Serializer;

use crate::error::Stop;
use crate::expect::{Check, ensure};
use crate::http::{RawRequest, RawResponse};
use crate::random::challenge;
use crate::requirement::Requirement as R;
use crate::run::Run;

pub(super) const COVERS: &[R] = &[
    R::AuthorizeClient,
    R::AuthorizeOnce,
    R::AuthorizeChallengeMethod,
    R::AuthorizeResponseType,
];

/// A legacy login, and the URL that begins it.
pub(super) struct LegacyLogin {
    pub(super) state: String,
    pub(super) verifier: String,
    pub(super) provider: &'static str,
    parameters: Vec<(&'static str, String)>,
}

/// Prepares a login for this kit's `/authorize`.
pub(super) fn begin(run: &mut Run<'_>, provider: &'static str) -> LegacyLogin {
    let state = run.new_secret("state");
    // With every kind of character that a verifier may have.
    let (one, other) = (
        run.new_secret("code_verifier"),
        run.new_secret("code_verifier"),
    );
    let verifier = format!("{one}.~{other}");
    let project = &run.plan.project;
    LegacyLogin {
        parameters: vec![
            ("client_id", project.client_id.clone()),
            ("redirect_uri", project.callback.clone()),
            ("provider", provider.to_owned()),
            ("state", state.clone()),
            ("code_challenge", challenge(&verifier)),
            ("code_challenge_method", "S256".to_owned()),
        ],
        state,
        verifier,
        provider,
    }
}

impl LegacyLogin {
    /// The path and query of the URL.
    pub(super) fn path(&self) -> String {
        let query = Serializer::new(String::new())
            .extend_pairs(&self.parameters)
            .finish();
        format!("/authorize?{query}")
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.parameters.push((name, value.to_owned()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.parameters.retain(|(known, _)| *known != name);
        self
    }
}

pub(super) async fn play(run: &mut Run<'_>) -> Result<(), Stop> {
    let plan = run.plan;
    let mut begin = || begin(run, run.providers[0]);
    let malformed = [
        (
            R::AuthorizeClient,
            begin()
                .without("client_id")
                .with("client_id", "an-unknown-client"),
        ),
        (R::AuthorizeOnce, begin().with("provider", "github")),
        (
            R::AuthorizeChallengeMethod,
            begin()
                .without("code_challenge_method")
                .with("code_challenge_method", "plain"),
        ),
        (
            R::AuthorizeResponseType,
            begin().with("response_type", "token"),
        ),
        (
            R::RequestSecretBesideBody,
            begin().with("client_secret", &plan.project.client_secret),
        ),
    ];
    let of_other = plan.callback_of_other_alone().map(|theirs| {
        let login = begin().without("redirect_uri");
        (R::AuthorizeClient, login.with("redirect_uri", theirs))
    });
    for (requirement, login) in malformed.into_iter().chain(of_other) {
        let exchange = run.send(RawRequest::get(&login.path())).await?;
        let stays = stays_away_from_provider(&exchange.response, &plan.project.callback);
        run.check(requirement, &exchange, stays);
    }
    Ok(())
}

/// The browser sees a page, or is redirected to the callback with an error.
fn stays_away_from_provider(response: &RawResponse, callback: &str) -> Check {
    let is_callback = |location: &String| location.starts_with(callback);
    ensure(
        response.location.as_ref().is_none_or(is_callback),
        "this kit redirects no such request to a provider",
    )
}

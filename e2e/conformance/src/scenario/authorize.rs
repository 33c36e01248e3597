//! `GET /authorize`, without going anywhere. The specification does not show its
//! parameters: all of this is our choice.

use url::form_urlencoded::Serializer;

use crate::expect::{Holds, that};
use crate::http::{Answer, Call};
use crate::requirement::Requirement as R;
use crate::run::{Run, Stop, challenge};

pub(super) const TRIES: &[R] = &[
    R::AuthorizeClient,
    R::AuthorizeOnce,
    R::AuthorizeChallengeMethod,
    R::AuthorizeResponseType,
];

/// A legacy login that was begun.
pub(super) struct Transaction {
    pub(super) state: String,
    pub(super) verifier: String,
    pub(super) provider: &'static str,
    parameters: Vec<(&'static str, String)>,
}

/// Begins one, as this kit's `/authorize` takes it.
pub(super) fn begin(run: &mut Run<'_>, provider: &'static str) -> Transaction {
    let state = run.fresh("state");
    // Of every kind of character that one may have.
    let (one, other) = (run.fresh("code_verifier"), run.fresh("code_verifier"));
    let verifier = format!("{one}.~{other}");
    let project = &run.plan.project;
    Transaction {
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

impl Transaction {
    /// The path and query that the browser opens.
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
    let mut begin = || begin(run, run.providers[0]);
    let wrong = [
        (
            R::AuthorizeClient,
            begin().without("client_id").with("client_id", "nobody"),
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
            R::SecretBesideBody,
            begin().with("client_secret", &run.plan.project.client_secret),
        ),
    ];
    for (requirement, transaction) in wrong {
        let exchange = run.call(Call::get(&transaction.path())).await?;
        let holds = goes_nowhere(&exchange.answer, &run.plan.project.callback);
        run.judge(requirement, &exchange, holds);
    }
    Ok(())
}

/// The browser is told so, or sent home with an error; not on to a provider.
fn goes_nowhere(answer: &Answer, callback: &str) -> Holds {
    let is_home = |location: &String| location.starts_with(callback);
    that(
        answer.location.as_ref().is_none_or(is_home),
        "ours sends nobody to a provider then",
    )
}

//! The page about a login that did not work, with one button that starts again.

use askama::Template;
use askama_web::WebTemplate;
use contract::{LoginError, Provider};
use rocket::Request;
use rocket::http::Status;
use rocket::response::{self, Responder};

use super::flow::Flow;
use crate::broker::CallError;
use crate::browser::{Browser, CurrentUser};

/// The page about a [`Problem`].
pub(crate) struct ProblemPage {
    status: Status,
    template: Box<ProblemTemplate>,
}

/// Why a login did not work, or not yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The login failed.
    Failed(LoginError),
    /// The login has not ended.
    Pending,
    /// This browser has no login under way here.
    NoSession,
    /// The broker refused a call, or we refused the callback.
    Refused,
    /// The broker's answer was lost, and with it the outcome.
    Lost,
}

#[derive(Template, WebTemplate)]
#[template(path = "problem.html")]
struct ProblemTemplate {
    user: Option<CurrentUser>,
    problem: Problem,
    /// The login to start again, if we know which it was.
    again: Option<Again>,
}

/// A new login with the same provider, by the same flow.
struct Again {
    provider: Provider,
    start_path: String,
}

impl ProblemPage {
    /// A problem of an unknown login: the button leads to the home page.
    pub(crate) fn new(browser: &Browser<'_>, problem: Problem) -> Self {
        Self::with(browser, problem, None)
    }

    /// A problem of a login by `flow`: the button starts the same login again.
    pub(crate) fn of_login(
        browser: &Browser<'_>,
        problem: Problem,
        flow: Flow,
        provider: Provider,
    ) -> Self {
        let again = Again {
            provider,
            start_path: flow.start_path(provider),
        };
        Self::with(browser, problem, Some(again))
    }

    /// A failed call to the broker, for a login by `flow`.
    pub(crate) fn of_failed_call(
        browser: &Browser<'_>,
        error: CallError,
        flow: Flow,
        provider: Provider,
    ) -> Self {
        // For the operator, once, where it is handled. It contains no secrets.
        tracing::warn!(%error, flow = flow.as_str(), %provider, "a login was given up");
        Self::of_login(browser, Problem::from(error), flow, provider)
    }

    fn with(browser: &Browser<'_>, problem: Problem, again: Option<Again>) -> Self {
        // A problem never touches the cookie. It might belong to an older
        // request, overtaken by one that has just signed this browser in.
        Self {
            status: problem.status(),
            template: Box::new(ProblemTemplate {
                user: browser.user(),
                problem,
                again,
            }),
        }
    }
}

impl<'r> Responder<'r, 'static> for ProblemPage {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        (self.status, *self.template).respond_to(request)
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(_) => Problem::Refused,
            CallError::Ambiguous(_) => Problem::Lost,
        }
    }
}

impl Problem {
    /// The problem's name in the page, for tests.
    fn as_str(self) -> &'static str {
        match self {
            Problem::Failed(error) => error.as_str(),
            Problem::Pending => "pending",
            Problem::NoSession => "no_session",
            Problem::Refused => "refused",
            Problem::Lost => "lost",
        }
    }

    fn status(self) -> Status {
        match self {
            // A login that failed is an answer, not an error of HTTP.
            Problem::Failed(_) | Problem::Pending => Status::Ok,
            Problem::NoSession | Problem::Refused => Status::BadRequest,
            Problem::Lost => Status::BadGateway,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Problem::Failed(LoginError::AccessDenied) => "You declined to sign in",
            Problem::Failed(LoginError::InvalidProviderResponse) => {
                "The provider's answer could not be trusted"
            }
            Problem::Failed(LoginError::ProviderUnavailable) => "The provider did not answer",
            Problem::Pending => "Still signing in",
            Problem::NoSession => "No sign-in is under way here",
            Problem::Refused => "This sign-in was refused",
            Problem::Lost => "The answer got lost",
        }
    }

    /// The cause in a sentence, and the user's next step.
    fn explanation(self) -> &'static str {
        match self {
            Problem::Failed(LoginError::AccessDenied) => {
                "You cancelled the sign-in, or did not give the permission. Nothing was shared with us."
            }
            Problem::Failed(LoginError::InvalidProviderResponse) => {
                "The answer did not prove who you are, so you were not signed in. This is not your fault."
            }
            Problem::Failed(LoginError::ProviderUnavailable) => {
                "The provider could not be reached, or is too busy. Try again in a moment, or use the other one."
            }
            Problem::Pending => {
                "The sign-in was started but is not finished. Perhaps it is still open in another tab."
            }
            Problem::NoSession => {
                "This browser did not start a sign-in here, or started it more than ten minutes ago. \
                 Allow cookies, and finish a sign-in in the browser in which you start it."
            }
            Problem::Refused => {
                "The sign-in took too long, was finished before, or began in another browser. You were not signed in."
            }
            Problem::Lost => {
                "The sign-in service could not be reached, or its answer did not arrive whole. A \
                 sign-in counts only once, so it is not repeated by itself. Please start again."
            }
        }
    }
}

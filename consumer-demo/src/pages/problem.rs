//! The page about a login that did not work, with one button that starts again.

use askama::Template;
use askama_web::WebTemplate;
use contract::{LoginError, Provider};
use rocket::Request;
use rocket::http::Status;
use rocket::response::{self, Responder};

use crate::broker::CallError;
use crate::browser::{Browser, CurrentUser};
use crate::session::{ExpiredLogin, Flow};

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
    /// The user came back after the end of the login.
    Expired,
    /// This browser has no login under way here.
    NoSession,
    /// The broker did not answer the call that starts a login.
    Unreachable,
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

    /// The page for a user who came back too late.
    pub(crate) fn expired(browser: &Browser<'_>, login: ExpiredLogin) -> Self {
        Self::of_login(browser, Problem::Expired, login.flow, login.provider)
    }

    /// A failed call that should have started a login by `flow`. The user has lost nothing,
    /// whatever became of the call.
    pub(crate) fn of_failed_start(
        browser: &Browser<'_>,
        error: CallError,
        flow: Flow,
        provider: Provider,
    ) -> Self {
        match error {
            CallError::Refused(_) => Self::of_failed_call(browser, error, flow, provider),
            CallError::Ambiguous(_) => {
                tracing::warn!(%error, flow = flow.as_str(), %provider, "a login could not be started");
                Self::of_login(browser, Problem::Unreachable, flow, provider)
            }
        }
    }

    /// A failed call to the broker, for a login by `flow`.
    pub(crate) fn of_failed_call(
        browser: &Browser<'_>,
        error: CallError,
        flow: Flow,
        provider: Provider,
    ) -> Self {
        // For the operator, once, where it is handled. It contains no secrets.
        tracing::warn!(%error, flow = flow.as_str(), %provider, "a login failed");
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

// [error_page]
impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(_) => Problem::Refused,
            CallError::Ambiguous(_) => Problem::Lost,
        }
    }
}
// [/]

impl Problem {
    /// Whether nothing has failed: the user may wait, or did the right thing.
    fn is_mild(self) -> bool {
        matches!(
            self,
            Problem::Pending | Problem::Expired | Problem::NoSession
        )
    }

    /// The problem's name in the page, for tests.
    fn as_str(self) -> &'static str {
        match self {
            Problem::Failed(error) => error.as_str(),
            Problem::Pending => "pending",
            Problem::Expired => "expired",
            Problem::NoSession => "no_session",
            Problem::Unreachable => "unreachable",
            Problem::Refused => "refused",
            Problem::Lost => "lost",
        }
    }

    fn status(self) -> Status {
        match self {
            // A login that failed is an answer, not an error of HTTP.
            Problem::Failed(_) | Problem::Pending => Status::Ok,
            Problem::Expired | Problem::NoSession | Problem::Refused => Status::BadRequest,
            Problem::Unreachable | Problem::Lost => Status::BadGateway,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Problem::Failed(LoginError::AccessDenied) => "Sign-in cancelled",
            Problem::Failed(LoginError::InvalidProviderResponse) => {
                "The provider's answer could not be trusted"
            }
            Problem::Failed(LoginError::ProviderUnavailable) => "The provider did not answer",
            Problem::Pending => "Still signing in",
            Problem::Expired => "That took longer than ten minutes",
            Problem::NoSession => "We can’t find your sign-in",
            Problem::Unreachable => "Sign-in is not available right now",
            Problem::Refused => "This sign-in was refused",
            Problem::Lost => "We didn’t get an answer",
        }
    }

    /// The cause in a sentence, and the user's next step.
    fn explanation(self) -> &'static str {
        match self {
            Problem::Failed(LoginError::AccessDenied) => {
                "You cancelled, or did not give your permission. Nothing was shared with us."
            }
            Problem::Failed(LoginError::InvalidProviderResponse) => {
                "The provider’s answer did not prove who you are, so you were not signed in. This is not your fault."
            }
            Problem::Failed(LoginError::ProviderUnavailable) => {
                "The provider could not be reached, or is too busy. Try again in a moment, or choose the other one."
            }
            Problem::Pending => {
                "The sign-in was started but is not finished. Perhaps it is still open in another tab."
            }
            Problem::Expired => {
                "Your sign-in has expired, and you were not signed in. Start again when you are ready."
            }
            Problem::NoSession => {
                "We found no sign-in under way that this browser started. Please start again. If this \
                 page comes back, delete this site’s cookies: one that is damaged hides the others from \
                 us. If you just cancelled a sign-in that you had not started: that was right, and you \
                 were not signed in."
            }
            Problem::Unreachable => {
                "Your sign-in has not started, and nothing is lost. Try again in a moment."
            }
            Problem::Refused => {
                "It expired, was already used, or started in another browser. You were not signed in."
            }
            Problem::Lost => {
                "The sign-in service did not answer, or its answer broke off. Your sign-in can be used \
                 only once, so we don’t repeat it by ourselves. Please start again."
            }
        }
    }
}

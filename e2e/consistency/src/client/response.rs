//! The checked parts of a response, and the model's answer that they stand for.

use reqwest::Method;
use reqwest::header::{HeaderMap, LOCATION, SET_COOKIE};
use serde_json::Value;
use testkit::openapi;

use super::{BASE_URL, CALLBACK};
use crate::model::{Answer, Failure, Step};
use crate::operation::{Outcome, User};

/// A response, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    /// The method and the path of the request.
    pub(crate) asked: (Method, String),
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The address of the browser's last page.
    pub(crate) location: String,
    pub(crate) cookies: String,
    pub(crate) body: String,
}

impl Response {
    pub(super) async fn read(
        asked: (Method, String),
        response: reqwest::Response,
    ) -> reqwest::Result<Self> {
        let headers = response.headers().clone();
        let text = |name| {
            let values = headers.get_all(name).iter();
            let texts: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
            texts
        };
        Ok(Self {
            asked,
            status: response.status().as_u16(),
            location: where_a_browser_arrives(text(LOCATION).join("")),
            cookies: cookie_pairs(&text(SET_COOKIE)),
            body: response.text().await?,
            headers,
        })
    }

    /// The outcome of `step` that this response shows.
    pub(crate) fn outcome(&self, step: Step) -> Outcome {
        if let Some(error) = self.contract_violation() {
            return self.unexpected(&error);
        }
        let answer = match (step, self.status) {
            (_, 503) => return Outcome::Unavailable,
            (Step::Start { .. }, 200) => Some(Answer::Started),
            (Step::Read { .. }, 200) => self.result(),
            (Step::Redeem { .. }, 200) => Some(Answer::Token),
            (Step::Profile { .. }, 200) => Some(Answer::Profile(User::read(&self.json()))),
            (Step::Revoke { .. }, 200) => Some(Answer::Revoked),
            (Step::Start { .. } | Step::Read { .. } | Step::Redeem { .. }, 400) => {
                Some(Answer::Refused)
            }
            (Step::Start { .. } | Step::Redeem { .. } | Step::Profile { .. }, 401) => {
                Some(Answer::Unrecognised)
            }
            (step, status) if is_of_a_browser(step) => self.page(status),
            _ => None,
        };
        answer.map_or_else(|| self.unexpected("no answer to that"), Outcome::Answered)
    }

    /// A violation of the published contract.
    pub(crate) fn contract_violation(&self) -> Option<String> {
        let (method, path) = &self.asked;
        let seen = testkit::http::Response {
            status: self.status,
            headers: self.headers.clone(),
            body: self.body.as_bytes().to_vec(),
        };
        match self.status {
            500 => Some("a fault of the broker".to_owned()),
            _ => openapi::check(method, path, &seen).err(),
        }
    }

    /// The operation, the status and what is wrong with them, without secrets.
    pub(crate) fn unexpected(&self, error: &str) -> Outcome {
        let (method, path) = &self.asked;
        let operation = path.rsplit_once("/login/").map_or(&**path, |_| "/login/…");
        Outcome::Unexpected(format!(
            "{method} {operation} answered {}: {error}",
            self.status
        ))
    }

    /// The handoff code that it takes to the callback.
    pub(crate) fn code(&self) -> Option<String> {
        self.parameter("code")
    }

    /// The body as JSON; null, if it is something else.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// A text member of the body; empty if there is none.
    pub(crate) fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap_or_default().to_owned()
    }

    /// The id of the request in the broker's log. Only a broker names its responses; one
    /// without an id is another server's.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")?.to_str().ok()
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let url = url::Url::parse(&self.location).ok()?;
        let (_, value) = url.query_pairs().find(|(its, _)| its == name)?;
        Some(value.into_owned())
    }

    fn result(&self) -> Option<Answer<User>> {
        let result = self.json();
        match result["status"].as_str()? {
            "pending" => Some(Answer::Pending),
            "succeeded" => Some(Answer::Succeeded(User::read(&result["profile"]))),
            "failed" => failure(&self.text("error")).map(Answer::Failed),
            _ => None,
        }
    }

    fn page(&self, status: u16) -> Option<Answer<User>> {
        match status {
            200 if self.body.contains("/continue\"") => Some(Answer::ConfirmationPage),
            303 => self.redirect(),
            400 => Some(Answer::Refused),
            404 => Some(Answer::NotKnown),
            410 => Some(Answer::AnotherBrowser),
            _ => None,
        }
    }

    fn redirect(&self) -> Option<Answer<User>> {
        match self.location.strip_prefix(CALLBACK) {
            None if self.location.starts_with(BASE_URL) => None,
            None => Some(Answer::ToProvider),
            Some("") => Some(Answer::ToCallback),
            Some(_) if self.code().is_some() => Some(Answer::CallbackWithCode),
            Some(_) => failure(&self.parameter("error")?).map(Answer::CallbackWithError),
        }
    }
}

impl User {
    fn read(profile: &Value) -> Self {
        let text = |member: &str| profile[member].as_str().unwrap_or_default().to_owned();
        Self {
            provider: text("provider"),
            id: text("providerSubject"),
            subject: text("subject"),
        }
    }
}

fn is_of_a_browser(step: Step) -> bool {
    matches!(
        step,
        Step::Visit { .. }
            | Step::VisitUnvouched { .. }
            | Step::Cancel { .. }
            | Step::Authorize { .. }
            | Step::Deliver { .. }
    )
}

fn failure(name: &str) -> Option<Failure> {
    Failure::ALL.into_iter().find(|it| it.name() == name)
}

/// The address at which a browser arrives that is sent to `location`: an empty fragment
/// leaves nothing behind, and the broker's own address that ends one leads on to the
/// callback.
fn where_a_browser_arrives(location: String) -> String {
    let over_return = url::Url::parse(&location).is_ok_and(|url| {
        let callback = ("redirect_uri".into(), CALLBACK.into());
        url.path() == "/return" && url.query_pairs().any(|pair| pair == callback)
    });
    match location.strip_suffix('#') {
        Some(_) if over_return => CALLBACK.to_owned(),
        Some(bare) => bare.to_owned(),
        None => location,
    }
}

/// The `Cookie` header of a browser that was given these cookies.
fn cookie_pairs(given: &[&str]) -> String {
    let pairs: Vec<_> = given
        .iter()
        .filter(|cookie| !cookie.contains("Max-Age=0"))
        .filter_map(|cookie| cookie.split(';').next())
        .collect();
    pairs.join("; ")
}

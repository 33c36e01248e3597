//! The app under examination, as far as the examiner has learnt it. Addresses are paths, because
//! each testbed has the app at an address of its own.

mod step;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::calls::operation;
use crate::transcript::TranscriptLine;

pub(crate) use step::{Step, shown_target};

/// A flow of the specification.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    serde::Deserialize,
    clap::ValueEnum,
    strum::Display,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Flow {
    /// `POST /v1/login/session`, then `POST /v1/login/result`.
    Clean,
    /// `GET /authorize`, then `POST /v1/token` and `GET /v1/profile`.
    Legacy,
}

impl Flow {
    /// The call that fetches the outcome, once.
    pub(crate) fn one_time_call(self) -> &'static str {
        match self {
            Self::Clean => operation::RESULT,
            Self::Legacy => operation::TOKEN,
        }
    }
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignInWay {
    pub(crate) flow: Flow,
    /// `google` or `github`.
    pub(crate) provider: &'static str,
    /// The steps from the start page to the broker.
    pub(crate) steps: Vec<Step>,
    /// The path of the callback.
    pub(crate) callback: String,
    /// The id of the project by which the app signs in.
    pub(crate) project: String,
}

/// The app.
#[derive(Debug, Clone, Default)]
pub(crate) struct App {
    pub(crate) ways: Vec<SignInWay>,
    /// The path of a page that shows who is signed in.
    pub(crate) whoami: String,
    /// The step on that page that signs out.
    pub(crate) sign_out: Option<Step>,
    /// The path of the page on which that step is.
    pub(crate) sign_out_page: String,
    /// The cookies that carry the session.
    pub(crate) session_cookies: Vec<String>,
    /// Whether browsers withhold such a cookie on the way back from the provider. One check
    /// finds that; in all others the callback is opened as if it were typed.
    pub(crate) has_strict_cookie: bool,
    /// The project's secret, to be searched for; `None` if it is not known.
    pub(crate) client_secret: Option<String>,
    /// The checks that it was seen to fail while its controls were pressed.
    pub(crate) failed: Failed,
}

/// Failures by their checks: what happened, and the exchanges.
pub(crate) type Failed = BTreeMap<&'static str, (String, Vec<TranscriptLine>)>;

impl App {
    /// The flows that the app offers.
    pub(crate) fn flows(&self) -> Vec<Flow> {
        let flows = [Flow::Clean, Flow::Legacy].into_iter();
        flows.filter(|flow| self.way(*flow).is_some()).collect()
    }

    /// The first way of a flow.
    pub(crate) fn way(&self, flow: Flow) -> Option<&SignInWay> {
        self.ways.iter().find(|way| way.flow == flow)
    }
}

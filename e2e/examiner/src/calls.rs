//! The calls of the app at the broker, as the stack's log recorded them.

use crate::control::Event;

/// The operations of the broker that an app calls, by the names of the stack's log.
pub(crate) mod operation {
    /// Starts a login of the clean flow.
    pub(crate) const SESSION: &str = "POST /v1/login/session";
    /// Reads the result of such a login, once.
    pub(crate) const RESULT: &str = "POST /v1/login/result";
    /// Starts a login of the legacy flow; the browser is the caller.
    pub(crate) const AUTHORIZE: &str = "GET /authorize";
    /// Exchanges the code of such a login, once.
    pub(crate) const TOKEN: &str = "POST /v1/token";
    /// Reads the profile with an access token.
    pub(crate) const PROFILE: &str = "GET /v1/profile";
    /// Ends an access token.
    pub(crate) const REVOKE: &str = "POST /v1/revoke";
    /// Lists the providers of a project.
    pub(crate) const PROVIDERS: &str = "GET /api/providers";
}

/// A call that reached the proxy in front of the broker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Call {
    pub(crate) request_id: String,
    /// The stack's time, in Unix milliseconds.
    pub(crate) at: i64,
    /// `POST /v1/login/result`
    pub(crate) operation: String,
    pub(crate) project: Option<String>,
    /// The id of its login, the same for every call with one session key or state.
    pub(crate) login: Option<String>,
    /// The broker's status, also where a fault kept it from the app.
    pub(crate) status: Option<u16>,
    /// The rule by which the broker refused it.
    pub(crate) rule: Option<String>,
    /// The fault that it met.
    pub(crate) fault: Option<String>,
    /// Whether a browser made it, and not the app's backend.
    pub(crate) is_by_browser: bool,
    /// The origin of a browser's visit, as far as its metadata shows it.
    pub(crate) provenance: Option<String>,
}

/// The calls at the broker, oldest first: one for each request, with its fault.
pub(crate) fn from_events(events: &[Event]) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    // A remark about a repeated call is beside the event of the call itself.
    for event in events.iter().filter(|it| it.to == "broker" && !it.resend) {
        match calls
            .iter_mut()
            .find(|it| it.request_id == event.request_id)
        {
            Some(call) => call.merge(event),
            None => calls.push(Call::new(event)),
        }
    }
    calls
}

impl Call {
    fn new(event: &Event) -> Self {
        Self {
            request_id: event.request_id.clone(),
            at: event.at,
            operation: event.operation.clone(),
            project: event.project.clone(),
            login: event.login.clone(),
            status: event.status,
            rule: event.rule.clone(),
            fault: event.fault.clone(),
            is_by_browser: event.from == "browser",
            provenance: event.provenance.clone(),
        }
    }

    fn merge(&mut self, event: &Event) {
        let fill = |own: &mut Option<String>, its: &Option<String>| {
            if own.is_none() {
                own.clone_from(its);
            }
        };
        fill(&mut self.project, &event.project);
        fill(&mut self.login, &event.login);
        fill(&mut self.rule, &event.rule);
        fill(&mut self.fault, &event.fault);
        fill(&mut self.provenance, &event.provenance);
        self.status = self.status.or(event.status);
    }

    /// Whether the app's backend made the call. `GET /api/providers` does not count: an
    /// app may ask for it whenever it shows a page.
    pub(crate) fn is_by_app(&self) -> bool {
        !self.is_by_browser && self.operation != operation::PROVIDERS
    }

    /// Whether the call fetches the outcome of a login: a result, a token or a profile.
    pub(crate) fn is_fetch(&self) -> bool {
        matches!(
            self.operation.as_str(),
            operation::RESULT | operation::TOKEN | operation::PROFILE
        )
    }

    /// The call in a few words: `POST /v1/token → 400 (code.once), fault lose_response`.
    pub(crate) fn describe(&self) -> String {
        let status = self
            .status
            .map_or("no answer".to_owned(), |it| it.to_string());
        let rule = self
            .rule
            .as_ref()
            .map_or(String::new(), |it| format!(" ({it})"));
        let fault = self
            .fault
            .as_ref()
            .map_or(String::new(), |it| format!(", fault {it}"));
        format!("{} \u{2192} {status}{rule}{fault}", self.operation)
    }
}

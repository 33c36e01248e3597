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

/// A call that reached the proxy in front of the broker: the events of one request as one.
pub(crate) type Call = Event;

/// The calls at the broker, oldest first: one for each request, with its fault.
pub(crate) fn from_events(events: Vec<Event>) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    // A remark about a repeated call is beside the event of the call itself.
    let own = events
        .into_iter()
        .filter(|it| it.to == "broker" && !it.resend);
    for event in own {
        let id = &event.request_id;
        match calls.iter_mut().find(|it| it.request_id == *id) {
            Some(call) => merge(call, event),
            None => calls.push(event),
        }
    }
    calls
}

/// Adds what `call` lacks.
fn merge(call: &mut Call, event: Event) {
    call.project = call.project.take().or(event.project);
    call.login = call.login.take().or(event.login);
    call.rule = call.rule.take().or(event.rule);
    call.fault = call.fault.take().or(event.fault);
    call.provenance = call.provenance.take().or(event.provenance);
    call.status = call.status.or(event.status);
}

/// Whether the app's backend made the call, and no browser. `GET /api/providers` does not count:
/// an app may ask for it whenever it shows a page.
pub(crate) fn is_by_app(call: &Call) -> bool {
    call.from != "browser" && call.operation != operation::PROVIDERS
}

/// Whether the call fetches the outcome of a login: a result, a token or a profile.
pub(crate) fn is_fetch(call: &Call) -> bool {
    matches!(
        call.operation.as_str(),
        operation::RESULT | operation::TOKEN | operation::PROFILE
    )
}

/// The call in a few words: `POST /v1/token → 400 (code.once), fault lose_response`. Its status is
/// the broker's, also where a fault kept it from the app.
pub(crate) fn describe(call: &Call) -> String {
    let status = call.status;
    let status = status.map_or("no answer".to_owned(), |it| it.to_string());
    let rule = call.rule.iter().map(|it| format!(" ({it})"));
    let fault = call.fault.iter().map(|it| format!(", fault {it}"));
    let more: String = rule.chain(fault).collect();
    format!("{} \u{2192} {status}{more}", call.operation)
}

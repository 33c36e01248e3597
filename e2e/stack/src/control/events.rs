//! Events, as a list and as a stream, and the exchanges behind them.

use std::sync::Arc;

use rocket::request::{FromRequest, Outcome};
use rocket::response::stream::{Event, EventStream};
use rocket::serde::json::Json;
use rocket::{Request, Shutdown, State, get};
use tokio::sync::broadcast::Receiver;

use crate::control_error::ControlError;
use crate::event_log::{Exchange, LoggedEvent};
use crate::runtime::StackRuntime;

#[get("/api/events?<after>&<login>")]
pub(super) fn list(
    after: Option<&str>,
    login: Option<&str>,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<Json<Vec<Arc<LoggedEvent>>>, ControlError> {
    let after = after.map_or(Ok(0), parse_seq)?;
    Ok(Json(runtime.event_log().events(after, login)))
}

/// Server-sent events, from the one after `after` or after the `Last-Event-ID` of a
/// reconnecting browser; without either, new events only.
#[get("/api/events/stream?<after>&<login>")]
pub(super) fn stream(
    after: Option<&str>,
    login: Option<&str>,
    last: LastEventId,
    runtime: &State<Arc<StackRuntime>>,
    mut shutdown: Shutdown,
) -> Result<EventStream![], ControlError> {
    // Subscribed before the list is read: an event in between is in both, and sent once.
    let mut new = runtime.event_log().subscribe();
    let mut past = Vec::new();
    let mut last_seq = 0;
    if let Some(after) = after.map(ToOwned::to_owned).or(last.0) {
        last_seq = parse_seq(&after)?;
        past = runtime.event_log().events(last_seq, None);
    }
    let login = login.map(ToOwned::to_owned);
    Ok(EventStream! {
        for event in past {
            last_seq = event.seq;
            if is_about(&event, login.as_deref()) {
                yield server_sent(&event);
            }
        }
        while let Some(event) = next_after(last_seq, &mut new, &mut shutdown).await {
            last_seq = event.seq;
            if is_about(&event, login.as_deref()) {
                yield server_sent(&event);
            }
        }
    })
}

/// The next event after `last_seq`. `None` at shutdown, and after a subscriber has missed
/// events: the stream ends, and the browser reconnects with its `Last-Event-ID`.
async fn next_after(
    last_seq: u64,
    new: &mut Receiver<Arc<LoggedEvent>>,
    shutdown: &mut Shutdown,
) -> Option<Arc<LoggedEvent>> {
    loop {
        let event = tokio::select! {
            _ = &mut *shutdown => return None,
            event = new.recv() => event.ok()?,
        };
        if event.seq > last_seq {
            return Some(event);
        }
    }
}

#[get("/api/exchanges/<request_id>")]
pub(super) fn exchange(
    request_id: &str,
    runtime: &State<Arc<StackRuntime>>,
) -> Result<Json<Exchange>, ControlError> {
    let exchange = runtime.event_log().exchange(request_id);
    exchange.map(Json).ok_or_else(|| {
        ControlError::not_found("no exchange has this request_id; the oldest are dropped first")
    })
}

fn parse_seq(text: &str) -> Result<u64, ControlError> {
    text.parse()
        .map_err(|_| ControlError::bad_request("after: the seq of an event, or 0 for all"))
}

fn is_about(event: &LoggedEvent, login: Option<&str>) -> bool {
    login.is_none() || event.login.as_deref() == login
}

fn server_sent(event: &LoggedEvent) -> Event {
    Event::json(event).id(event.seq.to_string())
}

/// The last event that a browser received before it lost its connection.
pub(super) struct LastEventId(Option<String>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for LastEventId {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let id = request.headers().get_one("Last-Event-ID");
        Outcome::Success(LastEventId(id.map(ToOwned::to_owned)))
    }
}

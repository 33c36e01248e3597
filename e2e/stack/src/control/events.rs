//! Events, as a list and as a stream, the exchanges behind them, and the status of logins.

use std::sync::Arc;
use std::time::Duration;

use rocket::fairing::AdHoc;
use rocket::form::Form;
use rocket::http::Method;
use rocket::request::{FromRequest, Outcome};
use rocket::response::stream::{Event, EventStream};
use rocket::serde::json::Json;
use rocket::{FromForm, Request, Route, Shutdown, State, get, post, routes};
use tokio::sync::Semaphore;
use tokio::sync::{broadcast, watch};

use super::call_list::{Call, calls};
use crate::event_log::{Exchange, LoggedEvent};
use crate::login_status::{self, LoginStatus};
use crate::request::{ControlError, RedirectBack, ReturnPath, Runtime};
use crate::runtime::StackRuntime;

/// The number of logins in the list.
const MAX_LOGINS: usize = 100;

pub(super) fn calls() -> Vec<Call> {
    calls! {
        list, "?after=0" => "All events, in order.";
        stream => "New events, as they happen.";
        exchange => "One exchange, masked.";
        logins => "The latest logins, with their states.";
        login => "The state and the calls of one login.";
    }
}

pub(super) fn forms() -> Vec<Route> {
    routes![send_again_form]
}

/// The number of streams at once. Each of them writes every event, while a call waits.
const MAX_STREAMS: usize = 64;

/// The streams that may still begin.
pub(super) struct FreeStreams(Arc<Semaphore>);

impl Default for FreeStreams {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_STREAMS)))
    }
}

/// The time between two bytes of a stream, by which the stack notices that a reader is gone.
const HEARTBEAT: Duration = Duration::from_secs(2);

#[get("/api/events?<after>&<login>")]
fn list(
    after: Option<&str>,
    login: Option<&str>,
    runtime: &Runtime,
) -> Result<Json<Vec<Arc<LoggedEvent>>>, ControlError> {
    let after = after.map_or(Ok(0), parse_seq)?;
    Ok(Json(runtime.event_log().events(after, login)))
}

/// A fairing that counts the calls that may have changed something, for the readers of the
/// stream.
pub(super) fn state_changes() -> AdHoc {
    AdHoc::on_response("state changes", |request, response| {
        let status = response.status().code;
        let reads = matches!(request.method(), Method::Get | Method::Head);
        if !reads && (200..400).contains(&status) {
            let runtime = request.rocket().state::<Arc<StackRuntime>>();
            runtime.inspect(|it| it.changes.send_modify(|count| *count += 1));
        }
        Box::pin(async {})
    })
}

/// Server-sent events, from the one after the `Last-Event-ID` of a reconnecting browser, or
/// after `after`; without either, new events only. Between them an event `state` for each control
/// call that may have changed something else, with the number of such calls.
#[get("/api/events/stream?<after>&<login>")]
fn stream(
    after: Option<&str>,
    login: Option<&str>,
    last: LastEventId<'_>,
    runtime: &Runtime,
    free: &State<FreeStreams>,
    mut shutdown: Shutdown,
) -> Result<EventStream![], ControlError> {
    let place = free.0.clone().try_acquire_owned().map_err(|_| {
        ControlError::too_many(format!(
            "at most {MAX_STREAMS} event streams are open at once: close one"
        ))
    })?;
    // Subscribed before the list is read: an event in between is in both, and sent once.
    let events = runtime.event_log().subscribe();
    let mut new = (events, runtime.changes.subscribe());
    let mut past = Vec::new();
    let mut last_seq = 0;
    // A browser reconnects to the URL that it had, so the header is the later word.
    if let Some(after) = last.0.or(after) {
        last_seq = parse_seq(after)?;
        past = runtime.event_log().events(last_seq, None);
    }
    let login = login.map(ToOwned::to_owned);
    let stream = EventStream! {
        let _place = place;
        for event in past {
            last_seq = event.seq;
            if is_about(&event, login.as_deref()) {
                yield server_sent(&event);
            }
        }
        while let Some(next) = next_after(last_seq, &mut new, &mut shutdown).await {
            match next {
                Next::State(count) => yield Event::data(count.to_string()).event("state"),
                Next::Event(event) => {
                    last_seq = event.seq;
                    if is_about(&event, login.as_deref()) {
                        yield server_sent(&event);
                    }
                }
            }
        }
    };
    Ok(stream.heartbeat(HEARTBEAT))
}

/// The next line of a stream: an event, or the number of calls that may have changed something.
enum Next {
    Event(Arc<LoggedEvent>),
    State(u64),
}

/// The next event after `last_seq`, or the next call. `None` at shutdown, and after a subscriber
/// has missed events: the stream ends, and the browser reconnects with its `Last-Event-ID`.
async fn next_after(
    last_seq: u64,
    (events, changes): &mut (broadcast::Receiver<Arc<LoggedEvent>>, watch::Receiver<u64>),
    shutdown: &mut Shutdown,
) -> Option<Next> {
    loop {
        tokio::select! {
            _ = &mut *shutdown => return None,
            event = events.recv() => match event.ok()? {
                event if event.seq > last_seq => return Some(Next::Event(event)),
                _ => {}
            },
            changed = changes.changed() => {
                changed.ok()?;
                return Some(Next::State(*changes.borrow_and_update()));
            }
        }
    }
}

#[get("/api/exchanges/<request_id>")]
fn exchange(request_id: &str, runtime: &Runtime) -> Result<Json<Exchange>, ControlError> {
    let exchange = runtime.event_log().exchange(request_id);
    exchange.map(Json).ok_or_else(|| {
        ControlError::not_found("no exchange has this request_id; the oldest are dropped first")
    })
}

#[derive(FromForm)]
struct SendAgainForm<'r> {
    /// The `X-Request-Id` of the exchange.
    call: &'r str,
}

#[post("/do/send-again", data = "<form>")]
async fn send_again_form(
    form: Form<SendAgainForm<'_>>,
    back: ReturnPath<'_>,
    runtime: &Runtime,
) -> RedirectBack {
    let answered = runtime.send_again(form.into_inner().call).await;
    let answered = answered.map_err(ControlError::not_found)?;
    back.redirect_to_call(answered.as_deref())
}

/// The latest logins, newest first.
#[get("/api/logins")]
async fn logins(runtime: &Runtime) -> Json<Vec<LoginStatus>> {
    let mut logins = Vec::new();
    for login in runtime.event_log().logins(MAX_LOGINS) {
        logins.extend(login_status::of(runtime, &login).await);
    }
    Json(logins)
}

#[get("/api/logins/<login>")]
async fn login(login: &str, runtime: &Runtime) -> Result<Json<LoginStatus>, ControlError> {
    let status = login_status::of(runtime, login).await;
    status.map(Json).ok_or_else(|| {
        ControlError::not_found(
            "no event mentions this login; GET /api/logins lists the known ones",
        )
    })
}

fn parse_seq(text: &str) -> Result<u64, ControlError> {
    text.parse().map_err(|_| {
        ControlError::bad_request(
            "after or Last-Event-ID: the seq of an event, a whole number below 2^64, or 0 for all",
        )
    })
}

fn is_about(event: &LoggedEvent, login: Option<&str>) -> bool {
    login.is_none() || event.login.as_deref() == login
}

fn server_sent(event: &LoggedEvent) -> Event {
    Event::json(event).id(event.seq.to_string())
}

/// The last event that a browser received before it lost its connection.
#[derive(Clone, Copy)]
struct LastEventId<'r>(Option<&'r str>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for LastEventId<'r> {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let id = request.headers().get_one("Last-Event-ID");
        Outcome::Success(LastEventId(id))
    }
}

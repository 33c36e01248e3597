//! What happened: as a list, as a stream, as exchanges.

use std::sync::Arc;

use rocket::request::{FromRequest, Outcome};
use rocket::response::stream::{Event as Sent, EventStream};
use rocket::serde::json::Json;
use rocket::{Request, Shutdown, State, get};
use tokio::sync::broadcast::error::RecvError;

use super::answer::Refused;
use crate::logbook::{Event, Exchange};
use crate::world::World;

#[get("/api/events?<after>&<login>")]
pub(super) fn list(
    after: Option<&str>,
    login: Option<&str>,
    world: &State<Arc<World>>,
) -> Result<Json<Vec<Arc<Event>>>, Refused> {
    let after = sequence_number(after)?;
    Ok(Json(world.watch.logbook.events(after, login)))
}

/// Server-sent events, from the one after `after`, or after the last that a
/// reconnecting browser has seen, on; without either, from now on.
#[get("/api/events/stream?<after>&<login>")]
pub(super) fn stream(
    after: Option<&str>,
    login: Option<&str>,
    last: LastEvent,
    world: &State<Arc<World>>,
    mut shutdown: Shutdown,
) -> Result<EventStream![], Refused> {
    let after = after.map(ToOwned::to_owned).or(last.0);
    // Subscribed first: what comes meanwhile is seen twice, and told once.
    let mut news = world.watch.logbook.subscribe();
    let mut told = Vec::new();
    let mut last_seq = 0;
    if let Some(after) = after {
        last_seq = sequence_number(Some(&after))?;
        told = world.watch.logbook.events(last_seq, None);
    }
    let login = login.map(ToOwned::to_owned);
    Ok(EventStream! {
        for event in told {
            last_seq = event.seq;
            if is_about(&event, login.as_deref()) {
                yield sent(&event);
            }
        }
        loop {
            let event = tokio::select! {
                _ = &mut shutdown => return,
                event = news.recv() => event,
            };
            match event {
                Ok(event) if event.seq <= last_seq => {}
                Ok(event) => {
                    last_seq = event.seq;
                    if is_about(&event, login.as_deref()) {
                        yield sent(&event);
                    }
                }
                // It reconnects, and says where it was.
                Err(RecvError::Lagged(_) | RecvError::Closed) => return,
            }
        }
    })
}

#[get("/api/exchanges/<request_id>")]
pub(super) fn exchange(
    request_id: &str,
    world: &State<Arc<World>>,
) -> Result<Json<Exchange>, Refused> {
    let exchange = world.watch.logbook.exchange(request_id);
    exchange.map(Json).ok_or_else(|| {
        Refused::missing("no exchange has this request_id; the oldest are forgotten first")
    })
}

fn sequence_number(text: Option<&str>) -> Result<u64, Refused> {
    match text.map(str::parse) {
        None => Ok(0),
        Some(Ok(number)) => Ok(number),
        Some(Err(_)) => Err(Refused::bad("after: the seq of an event, or 0 for all")),
    }
}

fn is_about(event: &Event, login: Option<&str>) -> bool {
    login.is_none() || event.login.as_deref() == login
}

fn sent(event: &Event) -> Sent {
    Sent::json(event).id(event.seq.to_string())
}

/// The last event that a browser saw before it lost its connection.
pub(super) struct LastEvent(Option<String>);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for LastEvent {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let id = request.headers().get_one("Last-Event-ID");
        Outcome::Success(LastEvent(id.map(ToOwned::to_owned)))
    }
}

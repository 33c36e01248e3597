//! One call from a client to the broker and back, with whatever goes wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::model::LoginId;
use contract::Digest;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{Request, Response};

use super::body::Body;
use super::call::Call;
use super::lane::Lane;
use super::spoil::{Closed, Outgoing, bad_gateway, halved, strange_page, unreachable_broker};
use super::{Target, Watch, drop_hop_by_hop};
use crate::faults::{Fault, Order};
use crate::logbook::{Crossing, Event, Heard, Said, WireEvent};

/// Carries the calls of one client's connection.
pub(super) struct Carrier {
    lane: Lane,
    watch: Arc<Watch>,
    /// Whether the connection has served a call before.
    is_reused: AtomicBool,
}

/// A call that the broker has not seen yet, and what is known of it.
struct Known {
    digest: Digest,
    login: Option<LoginId>,
    struck: Option<Order>,
    was_reused: bool,
}

impl Carrier {
    pub(super) fn new(target: Target, watch: Arc<Watch>) -> Self {
        Self {
            lane: Lane::to(target),
            watch,
            is_reused: AtomicBool::new(false),
        }
    }

    /// Carries one call.
    pub(super) async fn carry(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Outgoing>, Closed> {
        let call = Call::read(request).await?;
        let known = self.look_at(&call);
        if let Some(order) = known.struck.filter(|order| order.fault == Fault::Refuse) {
            return Err(self.refuse(call, &known, order));
        }
        let (request, heard) = call.send();
        let Ok(answer) = self.ask(request).await else {
            return Ok(unreachable_broker());
        };
        self.deliver(heard, &known, answer).await
    }

    fn look_at(&self, call: &Call) -> Known {
        let login = call.login(self.watch.logbook.ties());
        let digest = call.digest();
        if let Some(operation) = call.operation
            && let Some(why) = self.watch.resends.again(digest)
        {
            self.watch.write(WireEvent {
                request_id: &request_id(),
                operation,
                login: login.as_ref(),
                status: None,
                why,
                told: None,
                fault: None,
            });
        }
        let strike = |operation| self.watch.faults.strike(operation, login.as_ref());
        Known {
            digest,
            struck: call.operation.and_then(strike),
            login,
            was_reused: self.is_reused.swap(true, Ordering::Relaxed),
        }
    }

    /// Closes before the broker has seen the call.
    fn refuse(&self, call: Call, known: &Known, order: Order) -> Closed {
        let request_id = request_id();
        let (_, heard) = call.send();
        self.watch.logbook.keep(Crossing {
            request_id: request_id.clone(),
            heard,
            project: None,
            said: None,
            fault: Some(order.fault.name()),
        });
        self.watch.struck(order, known, &request_id, None);
        self.watch.resends.lost(known.digest, known.was_reused);
        Closed
    }

    /// The broker's whole answer.
    async fn ask(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
        let (mut head, body) = self.lane.ask(request).await?.into_parts();
        drop_hop_by_hop(&mut head.headers);
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// Writes down what the broker answered, and gives the client what it gets.
    async fn deliver(
        &self,
        heard: Heard,
        known: &Known,
        answer: Response<Bytes>,
    ) -> Result<Response<Outgoing>, Closed> {
        let header = answer.headers().get("x-request-id");
        let request_id = header.and_then(text).unwrap_or_default().to_owned();
        let (head, body) = answer.into_parts();
        let told = self.watch.logbook.told_by_broker(&request_id);
        if let Some(login) = &known.login {
            self.watch.logbook.ties().learn(login, &head, &body);
        }
        self.watch.logbook.keep(Crossing {
            request_id: request_id.clone(),
            heard,
            project: told.as_ref().and_then(|told| told.project.clone()),
            said: Some(Said::new(&head, &body)),
            fault: known.struck.map(|order| order.fault.name()),
        });
        let answer = Response::from_parts(head, body);
        let Some(order) = known.struck else {
            return Ok(answer.map(whole));
        };
        self.watch
            .struck(order, known, &request_id, told.as_deref());
        match order.fault {
            Fault::Refuse | Fault::LoseResponse => {
                self.watch.resends.lost(known.digest, known.was_reused);
                Err(Closed)
            }
            Fault::Truncate => halved(answer),
            Fault::Html502 => Ok(bad_gateway()),
            Fault::Html200 => Ok(strange_page()),
            Fault::Delay => {
                pause(order).await;
                Ok(answer.map(whole))
            }
        }
    }
}

impl Watch {
    /// Writes down that `order` struck a call.
    fn struck(&self, order: Order, known: &Known, request_id: &str, told: Option<&Event>) {
        self.write(WireEvent {
            request_id,
            operation: order.operation,
            login: known.login.as_ref(),
            status: match order.fault {
                Fault::Html502 => Some(502),
                Fault::Html200 => Some(200),
                Fault::Truncate | Fault::Delay => told.and_then(|told| told.status),
                Fault::Refuse | Fault::LoseResponse => None,
            },
            why: order.fault.says(),
            told,
            fault: Some(order.fault),
        });
    }

    fn write(&self, event: WireEvent<'_>) {
        self.logbook.write(event.at(self.clock.now_ms()));
    }
}

fn whole(body: Bytes) -> Outgoing {
    Either::Left(Full::new(body))
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok()
}

/// An id for an exchange that the broker knows nothing of.
fn request_id() -> String {
    let mut id = Digest::of(&broker::random::bytes32()).to_text();
    id.truncate(11);
    format!("wire-{id}")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client waits in real time, whatever our clock shows"
)]
async fn pause(order: Order) {
    tokio::time::sleep(order.delay).await;
}

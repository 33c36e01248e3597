//! One call from a client to the broker and back, with its fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use contract::Digest;
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};

use super::call::{ProxiedCall, check, drop_hop_by_hop};
use super::corrupt::{
    ClientBody, Closed, Unanswered, bad_gateway, broker_unreachable, dripping, endless,
    foreign_page, halved, refused_request, whole,
};
use super::delivery::{DeliveredBody, Delivery, ProxyState, ReadyAnswer};
use super::upstream_conn::{ForwardedBody, Target, UpstreamConn};
use crate::event_log::{
    LoggedEvent, ProxyEvent, RecordedExchange, RecordedRequest, RecordedResponse,
};
use crate::faults::{Fault, FaultInjection, HeldCall};
use crate::operation::CallOwner;

/// Forwards the calls of one client connection.
pub(super) struct ProxyService {
    upstream: UpstreamConn,
    state: Arc<ProxyState>,
    /// Whether the connection has served a call before.
    is_reused: AtomicBool,
    ready: ReadyAnswer,
}

/// The answer for a client, and its delivery if it is the broker's.
type ClientAnswer = (Response<ClientBody>, Option<Delivery>);

/// The proxy's knowledge of a call before the broker sees it.
struct CallContext {
    digest: Digest,
    owner: CallOwner,
    injected: Option<FaultInjection>,
    was_reused: bool,
    /// Whether the call counts as lost while its client waits.
    is_slow: bool,
}

impl ProxyService {
    /// A service for the connection whose answers become ready in `ready`.
    pub(super) fn new(target: Target, state: Arc<ProxyState>, ready: ReadyAnswer) -> Self {
        Self {
            upstream: UpstreamConn::new(target),
            state,
            is_reused: AtomicBool::new(false),
            ready,
        }
    }

    /// Forwards one call.
    pub(super) async fn forward(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<DeliveredBody>, Unanswered> {
        self.ready.clear();
        if let Err(refused) = check(request.version(), request.headers()) {
            return Ok(self.delivered(refused_request(refused.status(), refused), None));
        }
        let call = ProxiedCall::read(request).await?;
        let resent = self.state.resends.explain(call.digest());
        let (response, delivery) = self.forward_call(call, resent).await?;
        Ok(self.delivered(response, delivery))
    }

    fn delivered(
        &self,
        response: Response<ClientBody>,
        delivery: Option<Delivery>,
    ) -> Response<DeliveredBody> {
        response.map(|body| DeliveredBody {
            body,
            delivery,
            ready: self.ready.clone(),
        })
    }

    /// Forwards one call, which is a resend if `resent` says why.
    pub(super) async fn forward_call(
        &self,
        call: ProxiedCall,
        resent: Option<&'static str>,
    ) -> Result<ClientAnswer, Unanswered> {
        let mut context = self.inspect(&call, resent);
        let is_before = |it: &mut FaultInjection| it.fault.is_before_broker();
        if let Some(injected) = context.injected.take_if(is_before) {
            let request_id = self.record_unseen(&call, &context, &injected);
            match injected.fault {
                Fault::HoldRequest => self.hold(&injected, &context, request_id).await,
                _ => {
                    self.state.resends.lost(context.digest, context.was_reused);
                    return Err(Closed.into());
                }
            }
        }
        let recorded = call.recorded();
        let (answered, took) = timed(self.send(call.into_request())).await;
        let Ok(response) = answered else {
            return Ok((broker_unreachable(), None));
        };
        self.deliver(recorded, took, &context, response).await
    }

    /// Identifies the call and its owner, records a resend, and triggers a fault.
    fn inspect(&self, call: &ProxiedCall, resent: Option<&'static str>) -> CallContext {
        let owner = call.owner(self.state.event_log.secrets());
        if let (Some(operation), Some(why)) = (call.operation, resent) {
            self.state.record(ProxyEvent {
                request_id: &new_request_id(),
                operation,
                login: owner.login.as_ref(),
                status: None,
                why,
                audited: None,
                fault: None,
            });
        }
        let trigger = |operation| self.state.faults.trigger(operation, &owner);
        let (digest, injected) = (call.digest(), call.operation.and_then(trigger));
        let is_slow = injected.as_ref().is_some_and(|it| it.fault.keeps_waiting());
        if is_slow {
            // A client whose patience ends repeats the call while the first one waits.
            self.state.resends.lost(digest, false);
        }
        CallContext {
            digest,
            injected,
            is_slow,
            owner,
            was_reused: self.is_reused.swap(true, Ordering::Relaxed),
        }
    }

    /// Records a call that the broker has not seen, with its fault, and returns its id.
    fn record_unseen(
        &self,
        call: &ProxiedCall,
        context: &CallContext,
        injected: &FaultInjection,
    ) -> String {
        let request_id = new_request_id();
        self.state.event_log.record(RecordedExchange {
            request_id: request_id.clone(),
            request: call.recorded(),
            project: None,
            response: None,
            fault: Some(injected.fault.name()),
            took: Duration::ZERO,
        });
        self.record_fault(injected, context, &request_id, None);
        request_id
    }

    /// Holds the call until it is let go.
    async fn hold(&self, injected: &FaultInjection, context: &CallContext, request_id: String) {
        let login = context.owner.login.as_ref();
        let call = HeldCall {
            id: 0,
            operation: injected.operation.name(),
            fault: injected.fault.name(),
            request_id,
            login: login.map(|login| login.as_str().to_owned()),
        };
        self.state.faults.hold(call).await;
    }

    /// Sends the request to the broker and reads its whole response.
    async fn send(
        &self,
        request: Request<ForwardedBody>,
    ) -> Result<Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
        let (mut head, body) = self.upstream.send(request).await?.into_parts();
        drop_hop_by_hop(&mut head.headers);
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// Records the broker's response and returns the one that the client gets.
    async fn deliver(
        &self,
        request: RecordedRequest,
        took: Duration,
        context: &CallContext,
        response: Response<Bytes>,
    ) -> Result<ClientAnswer, Unanswered> {
        let header = response.headers().get("x-request-id");
        let request_id = header.and_then(|id| id.to_str().ok());
        let request_id = request_id.unwrap_or_default().to_owned();
        let (head, body) = response.into_parts();
        let event_log = &self.state.event_log;
        let audited = event_log.audited(&request_id);
        if context.owner.login.is_some() {
            event_log.secrets().learn(&context.owner, &head, &body);
        }
        event_log.record(RecordedExchange {
            request_id: request_id.clone(),
            request,
            project: audited.as_ref().and_then(|event| event.project.clone()),
            response: Some(RecordedResponse::new(&head, &body)),
            fault: context.injected.as_ref().map(|it| it.fault.name()),
            took,
        });
        let response = Response::from_parts(head, body);
        let receipt = audited.as_ref().map(|event| event.receipt.clone());
        let delivery = || Delivery {
            state: self.state.clone(),
            digest: context.digest,
            receipt: receipt.unwrap_or_default(),
            was_lost: context.is_slow,
        };
        let Some(injected) = &context.injected else {
            return Ok((response.map(whole), Some(delivery())));
        };
        self.record_fault(injected, context, &request_id, audited.as_deref());
        if injected.fault == Fault::HoldResponse {
            self.hold(injected, context, request_id).await;
        }
        let response = self.answer(injected, context, response).await?;
        Ok((response, context.is_slow.then(delivery)))
    }

    /// The answer that the fault leaves the client with.
    async fn answer(
        &self,
        injected: &FaultInjection,
        context: &CallContext,
        response: Response<Bytes>,
    ) -> Result<Response<ClientBody>, Unanswered> {
        // A broker that stops waits for its connections, and not for a client that waits.
        self.upstream.close().await;
        let lost = &self.state.resends;
        match injected.fault {
            Fault::Refuse | Fault::LoseResponse => {
                lost.lost(context.digest, context.was_reused);
                Err(Closed.into())
            }
            Fault::Silence => {
                // No client repeats a call by itself on a connection that is open.
                lost.lost(context.digest, false);
                Err(Unanswered::Silent)
            }
            Fault::Truncate => Ok(halved(response)?),
            Fault::Html502 => Ok(bad_gateway()),
            Fault::Html200 => Ok(foreign_page()),
            Fault::Delay => {
                delay(injected).await;
                Ok(response.map(whole))
            }
            Fault::HoldRequest | Fault::HoldResponse => Ok(response.map(whole)),
            Fault::Drip => Ok(dripping(response)),
            Fault::Endless => Ok(endless()),
            Fault::Answer => Ok(injected.answer.to_response().map(whole)),
        }
    }

    /// Records that a fault was injected into a call.
    fn record_fault(
        &self,
        injected: &FaultInjection,
        context: &CallContext,
        request_id: &str,
        audited: Option<&LoggedEvent>,
    ) {
        tracing::warn!(
            "injected {} on {}",
            injected.fault.name(),
            injected.operation.name()
        );
        self.state.record(ProxyEvent {
            request_id,
            operation: injected.operation,
            login: context.owner.login.as_ref(),
            status: match injected.fault {
                Fault::Html502 => Some(502),
                Fault::Html200 | Fault::Endless => Some(200),
                Fault::Answer => Some(injected.answer.status()),
                Fault::Truncate | Fault::Delay | Fault::Drip | Fault::HoldResponse => {
                    audited.and_then(|event| event.status)
                }
                Fault::Refuse | Fault::LoseResponse | Fault::Silence | Fault::HoldRequest => None,
            },
            why: injected.fault.description(),
            audited,
            fault: Some(injected.fault),
        });
    }
}

/// An id for an exchange that has no `X-Request-Id` of the broker.
fn new_request_id() -> String {
    let mut id = Digest::of(&broker::random::bytes32()).to_text();
    id.truncate(11);
    format!("proxy-{id}")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a duration is measured in real time, whatever our clock shows"
)]
async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let begun = Instant::now();
    let output = future.await;
    (output, begun.elapsed())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client waits in real time, whatever our clock shows"
)]
async fn delay(injected: &FaultInjection) {
    tokio::time::sleep(injected.delay).await;
}

//! The calls that a fault holds until they are let go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::oneshot;

/// A call that waits to be let go. The fields are the members of its JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldCall {
    /// The id by which it is let go.
    pub id: u64,
    /// The name of the operation.
    pub operation: &'static str,
    /// The fault: `hold_request` or `hold_response`.
    pub fault: &'static str,
    /// The `X-Request-Id` of the exchange.
    pub request_id: String,
    /// The login of the call, if it is known.
    pub login: Option<String>,
}

/// The calls that wait.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldCalls(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    last_id: u64,
    /// A call goes on when its sender is dropped.
    calls: Vec<(HeldCall, oneshot::Sender<()>)>,
}

impl HeldCalls {
    /// Waits until `call`, which gets an id, is let go. The proxy does not see a client leave:
    /// one that has sent its request may close its half of the connection and wait.
    pub(super) async fn wait(&self, call: HeldCall) {
        let (_entry, let_go) = self.add(call);
        // The sender is dropped, and sends nothing.
        let _ = let_go.await;
    }

    fn add(&self, call: HeldCall) -> (Entry, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        let mut held = self.lock();
        held.last_id += 1;
        let id = held.last_id;
        held.calls.push((HeldCall { id, ..call }, sender));
        let held = self.clone();
        (Entry { held, id }, receiver)
    }

    /// The calls that wait, oldest first.
    pub(super) fn list(&self) -> Vec<HeldCall> {
        self.lock()
            .calls
            .iter()
            .map(|(call, _)| call.clone())
            .collect()
    }

    /// Lets one call go; false if none with this id waits.
    pub(super) fn let_go(&self, id: u64) -> bool {
        let mut held = self.lock();
        let before = held.calls.len();
        held.calls.retain(|(call, _)| call.id != id);
        held.calls.len() < before
    }

    pub(super) fn let_all_go(&self) {
        self.lock().calls.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the list, which its call gives up when it goes on or its connection ends.
struct Entry {
    held: HeldCalls,
    id: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.held.let_go(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn call() -> HeldCall {
        HeldCall {
            id: 0,
            operation: "POST /v1/token",
            fault: "hold_request",
            request_id: "aCall".to_owned(),
            login: None,
        }
    }

    #[test]
    fn a_call_waits_until_it_is_let_go_and_no_longer() {
        let held = HeldCalls::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut first = pin!(held.wait(call()));
        let mut second = pin!(held.wait(call()));
        for waiting in [&mut first, &mut second] {
            assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
        }
        let ids: Vec<_> = held.list().iter().map(|it| it.id).collect();
        assert_eq!(ids, [1, 2]);
        assert!(held.let_go(1) && !held.let_go(1));
        assert_eq!(first.as_mut().poll(&mut context), Poll::Ready(()));
        assert_eq!(second.as_mut().poll(&mut context), Poll::Pending);
        held.let_all_go();
        assert_eq!(second.as_mut().poll(&mut context), Poll::Ready(()));
    }

    #[test]
    fn a_call_whose_connection_ends_is_no_longer_listed() {
        let held = HeldCalls::default();
        let mut waiting = Box::pin(held.wait(call()));
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(held.list().len(), 1);
        drop(waiting);
        assert_eq!(held.list(), []);
    }
}

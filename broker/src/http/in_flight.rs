//! The number of requests in flight, so that a broker can stop as soon as there is none.
//! Rocket itself would always wait for its whole grace time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rocket::fairing::{Fairing, Info, Kind};
use rocket::{Data, Request};
use tokio::sync::Notify;

/// The requests in flight. Clones share one count.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Count>);

#[derive(Default)]
struct Count {
    requests: AtomicUsize,
    none: Notify,
}

impl InFlight {
    /// Waits until there is none.
    pub async fn none(&self) {
        let Count { requests, none } = &*self.0;
        loop {
            // Made before the count is read, so that no notice is missed in between.
            let notice = none.notified();
            if requests.load(Ordering::SeqCst) == 0 {
                return;
            }
            notice.await;
        }
    }

    fn enter(&self) -> Entered {
        self.0.requests.fetch_add(1, Ordering::SeqCst);
        Entered(self.0.clone())
    }
}

/// Lives as long as its request, which outlives the body of its answer.
struct Entered(Arc<Count>);

impl Drop for Entered {
    fn drop(&mut self) {
        if self.0.requests.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_waiters();
        }
    }
}

#[rocket::async_trait]
impl Fairing for InFlight {
    fn info(&self) -> Info {
        Info {
            name: "requests in flight",
            kind: Kind::Request,
        }
    }

    async fn on_request(&self, request: &mut Request<'_>, _: &mut Data<'_>) {
        request.local_cache(|| self.enter());
    }
}

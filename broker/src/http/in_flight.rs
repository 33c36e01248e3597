//! The number of requests in flight, so that a broker can stop as soon as there is none.
//! Rocket itself would always wait for its whole grace time.

use std::sync::Arc;

use rocket::fairing::{Fairing, Info, Kind};
use rocket::{Data, Request};
use tokio::sync::watch;

/// The requests in flight. Clones share one count.
#[derive(Clone, Default)]
pub struct InFlight(Arc<watch::Sender<usize>>);

impl InFlight {
    /// Waits until there is none.
    pub async fn none(&self) {
        let mut count = self.0.subscribe();
        // It cannot fail: we hold the sender.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    fn enter(&self) -> Entered {
        self.0.send_modify(|count| *count += 1);
        Entered(self.0.clone())
    }
}

/// Lives as long as its request, which outlives the body of its answer.
struct Entered(Arc<watch::Sender<usize>>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
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

//! Single use and expiry: values that are used again, used concurrently, and used too
//! late.

mod codes;
mod model;
mod results;

use std::future::Future;
use std::sync::Arc;

use testkit::backend::Backend;
use testkit::http::Response;

/// The time before its end at which a value is still used.
const MARGIN_MS: i64 = 100;

/// The most repetitions of a round that was too slow to show anything.
const MAX_ROUNDS: usize = 50;

/// Repeats `round` until it was quick enough to show something: a running clock
/// may run past the end between two requests on a busy machine.
async fn in_time<T>(mut round: impl AsyncFnMut() -> Option<T>) {
    for _ in 0..MAX_ROUNDS {
        if round().await.is_some() {
            return;
        }
    }
    panic!("no round was quick enough");
}

/// The responses to `count` equal requests, sent at once on connections of their own.
async fn at_once<F>(
    count: usize,
    backend: &Backend,
    request: impl Fn(Backend) -> F,
) -> Vec<Response>
where
    F: Future<Output = Response> + Send + 'static,
{
    let start = Arc::new(tokio::sync::Barrier::new(count));
    let requests: Vec<_> = (0..count)
        .map(|_| {
            let (start, request) = (start.clone(), request(backend.clone()));
            tokio::spawn(async move {
                start.wait().await;
                request.await
            })
        })
        .collect();
    let mut responses = Vec::new();
    for request in requests {
        responses.push(request.await.expect("a response"));
    }
    responses
}

//! A broker whose store or processor takes longer than its users wait: no login begins, and
//! those that have begun go on.

use std::time::{Duration, Instant};

use broker::clock::Clock;
use rocket::futures::future::join_all;
use serde_json::json;
use testkit::http::Response;
use tokio::task::JoinSet;

use crate::installation::FileBroker;
use crate::test_broker::{CALLBACK, TestBroker, authorize_path, session_body};

/// The steps that wait while the store is held: more than make a queue.
const STEPS: u8 = 20;

/// More requests than any overload of these tests needs to be noticed, or to end.
const MAX_REQUESTS: u32 = 3_000;

/// A broker with the limit of one that runs alone, whose store can be held.
async fn overloadable() -> FileBroker {
    FileBroker::start_on(Clock::system(), |config| {
        config.limits.overload_delay_ms = 100.try_into().unwrap();
    })
    .await
}

/// Reads results, each of which waits for the store.
fn steps(broker: &TestBroker) -> impl Future<Output = Vec<Response>> {
    join_all((100..100 + STEPS).map(|key| broker.result(key)))
}

/// Lets results be read while the store is held, until a login is refused. Returns the
/// refusal, and the answers to those reads.
async fn overload(broker: &FileBroker) -> (Response, Vec<Response>) {
    let held = broker.hold().await;
    let refusal = async {
        let refusal = first_refusal(broker).await;
        drop(held);
        refusal
    };
    tokio::join!(refusal, steps(broker))
}

/// Repeats a request until it has its last status.
async fn until<F: Future<Output = Response>>(
    request: impl Fn() -> F,
    is_last: impl Fn(u16) -> bool,
) -> Response {
    for _ in 0..MAX_REQUESTS {
        let answer = request().await;
        if is_last(answer.status) {
            return answer;
        }
    }
    panic!("{MAX_REQUESTS} requests changed nothing");
}

/// Visits `/authorize`, which needs no store.
async fn visit(broker: &TestBroker) -> Response {
    broker.browser().get(&authorize_path()).await
}

/// Visits until it is refused.
pub(super) async fn first_refusal(broker: &TestBroker) -> Response {
    until(|| visit(broker), |status| status != 303).await
}

/// Visits until it is not refused.
async fn first_admission(broker: &TestBroker) -> Response {
    until(|| visit(broker), |status| status != 503).await
}

/// Starts a login until it is not refused: on a busy machine a delay may soon be long
/// again.
async fn first_session(broker: &TestBroker) -> Response {
    let body = session_body(1);
    let start = || broker.post("/v1/login/session", &body);
    until(start, |status| status != 503).await
}

/// Takes longer than a refusal.
async fn visits(broker: &TestBroker) {
    for _ in 0..200 {
        visit(broker).await;
    }
}

// Threats: A39.
#[tokio::test]
async fn while_the_store_is_overloaded_no_login_begins_and_afterwards_logins_begin_again() {
    let broker = overloadable().await;
    let (page, reads) = overload(&broker).await;
    page.is_refusal_page(503, "broker.overload");
    assert_eq!(page.header("retry-after"), Some("5"));
    for read in reads {
        read.is_refusal(400);
    }
    assert_eq!(first_admission(&broker).await.status, 303);
    assert_eq!(first_session(&broker).await.status, 200);
}

/// Reads of a file wait for no step, and end at once while changes wait.
#[tokio::test]
async fn reads_of_the_store_do_not_hide_that_its_changes_wait() {
    let broker = overloadable().await;
    let held = broker.hold().await;
    let changes = steps(&broker);
    let unknown = format!("/login/{}", "A".repeat(43));
    let read_and_visit = || async {
        broker.browser().get(&unknown).await;
        visit(&broker).await
    };
    let read_until_refused = async {
        until(read_and_visit, |status| status == 503).await;
        drop(held);
    };
    tokio::join!(read_until_refused, changes);
}

#[tokio::test]
async fn a_backend_is_refused_as_json_before_its_body_is_judged() {
    let broker = overloadable().await;
    let held = broker.hold().await;
    let reads = steps(&broker);
    let refusals = async {
        first_refusal(&broker).await;
        for body in [session_body(1), json!({})] {
            let refused = tokio::select! {
                answer = broker.post("/v1/login/session", &body) => answer,
                () = visits(&broker) => panic!("a login begins, and waits for the store"),
            };
            broker.has_refused(&refused, 503, "broker.overload");
            assert_eq!(refused.header("retry-after"), Some("5"));
        }
        drop(held);
    };
    tokio::join!(refusals, reads);
    assert_eq!(first_session(&broker).await.status, 200);
}

/// Three logins, each of which was begun and is at another request: its visit, its
/// callback, its result.
// Threats: A39.
#[tokio::test]
async fn a_login_that_has_begun_completes_during_an_overload() {
    let broker = overloadable().await;
    let (visitor, path) = (broker.browser(), broker.session(1).await);
    let (browser, back) = broker.at_provider(2).await;
    broker.sign_in(3).await.redirects_to(CALLBACK);
    let held = broker.hold().await;
    let reads = steps(&broker);
    let during = async {
        first_refusal(&broker).await;
        let still_refused = async {
            visits(&broker).await;
            first_refusal(&broker).await;
            drop(held);
        };
        let (visited, called_back) = (visitor.get(&path), browser.get(&back));
        tokio::join!(visited, called_back, broker.result(3), still_refused)
    };
    let ((visited, called_back, result, ()), _) = tokio::join!(during, reads);
    assert_eq!(visited.status, 303, "{visited:?}");
    called_back.redirects_to(CALLBACK);
    assert_eq!(result.json()["status"], "succeeded");
}

// Threats: A39.
#[tokio::test]
async fn while_the_processor_is_overloaded_no_login_begins_and_afterwards_logins_begin_again() {
    let broker = overloadable().await;
    let mut others = JoinSet::new();
    for _ in 0..20 {
        others.spawn(keep_the_processor_busy());
    }
    let page = first_refusal(&broker).await;
    page.is_refusal_page(503, "broker.overload");
    others.shutdown().await;
    assert_eq!(first_admission(&broker).await.status, 303);
}

/// A task that always has work for the processor, and lets others run after each
/// millisecond.
#[expect(clippy::disallowed_methods, reason = "work takes real time")]
async fn keep_the_processor_busy() {
    loop {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(1) {
            std::hint::spin_loop();
        }
        tokio::task::yield_now().await;
    }
}

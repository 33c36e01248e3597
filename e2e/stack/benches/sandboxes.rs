//! The cost of sandboxes: the time until one is ready, the memory of many at once, and
//! the growth after a thousand were made and ended, each with a sign-in.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stack::{Stack, StackSettings};
use testkit::backend::Backend;
use testkit::browser::{Browser, UNSERVED};
use testkit::http::Http;
use tokio::task::JoinSet;

/// The number of sandboxes at once, which is the default limit.
const AT_ONCE: usize = 64;

/// The number that is made and ended one after the other.
const IN_A_ROW: usize = 1_000;

/// The number after which the process has what it keeps: pools, caches, arenas.
const WARM_UP: usize = 100;

#[tokio::main]
async fn main() {
    let stack = Stack::start(StackSettings::for_tests()).await;
    let stack = stack.expect("free ports");
    let control = Http::at(&stack.urls().control);
    in_a_row(&control).await;
    at_once(&control).await;
    stack.stop().await;
}

async fn in_a_row(control: &Http) {
    let mut times = Vec::new();
    let mut warm = Usage::now();
    for number in 0..IN_A_ROW {
        if number == WARM_UP {
            warm = Usage::now();
        }
        let (sandbox, time) = start(control).await;
        times.push(time);
        sign_in(&sandbox).await;
        end(control, &sandbox).await;
    }
    times.sort();
    let grown = Usage::now();
    print(&format!(
        "ready after {:.1} ms, the slowest of {IN_A_ROW} after {:.1} ms",
        ms(times[IN_A_ROW / 2]),
        ms(times[IN_A_ROW - 1]),
    ));
    print(&format!(
        "{} made and ended, each with a sign-in: {:+.1} MB, {:+} threads, {:+} descriptors",
        IN_A_ROW - WARM_UP,
        grown.mb - warm.mb,
        grown.threads - warm.threads,
        grown.descriptors - warm.descriptors,
    ));
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
async fn at_once(control: &Http) {
    let before = Usage::now();
    let began = Instant::now();
    let mut starting = JoinSet::new();
    for _ in 0..AT_ONCE {
        let control = control.clone();
        starting.spawn(async move { start(&control).await.0 });
    }
    let sandboxes = starting.join_all().await;
    let took = began.elapsed();
    let mut signing_in = JoinSet::new();
    for sandbox in sandboxes.clone() {
        signing_in.spawn(async move { sign_in(&sandbox).await });
    }
    signing_in.join_all().await;
    let after = Usage::now();
    let each = |amount: f64| amount / AT_ONCE as f64;
    print(&format!(
        "{AT_ONCE} at once, each with a sign-in: ready after {:.0} ms in all; \
         {:.1} MB and {:.0} threads each",
        ms(took),
        each(after.mb - before.mb),
        each(after.threads as f64 - before.threads as f64),
    ));
    for sandbox in sandboxes {
        end(control, &sandbox).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
async fn start(control: &Http) -> (Value, Duration) {
    let callback = format!("{UNSERVED}/back");
    let body = json!({ "projects": [{ "name": "App", "redirect_uris": [callback] }] });
    let began = Instant::now();
    let response = control.post("/api/sandboxes").json(&body).send().await;
    let time = began.elapsed();
    assert_eq!(response.status, 201, "{}", response.text());
    (response.json(), time)
}

async fn sign_in(sandbox: &Value) {
    let broker = sandbox["broker"].as_str().expect("a URL");
    let backend = Backend::of(broker, &sandbox["projects"][0]);
    let login = backend.start_login("google").await;
    Browser::new().follow(&login.authorization_url).await;
    let result = backend.result(&login.session_key).await;
    assert_eq!(result.json()["status"], "succeeded");
}

async fn end(control: &Http, sandbox: &Value) {
    let id = sandbox["id"].as_str().expect("an id");
    let path = format!("/api/sandboxes/{id}");
    let ended = control.request(reqwest::Method::DELETE, path).send().await;
    assert_eq!(ended.status, 204);
}

/// The memory, threads and open files of this process.
struct Usage {
    mb: f64,
    threads: i64,
    descriptors: i64,
}

impl Usage {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let number = |name: &str| -> i64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next());
            word.and_then(|word| word.parse().ok()).expect("a number")
        };
        let descriptors = std::fs::read_dir("/proc/self/fd").expect("Linux").count();
        Self {
            mb: number("VmRSS:") as f64 * 1024.0 / 1_000_000.0,
            threads: number("Threads:"),
            descriptors: descriptors.try_into().expect("a small number"),
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn print(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

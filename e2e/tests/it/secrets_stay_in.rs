//! No secret is where it does not belong: in an address, a page, a cookie, a
//! `Referer` or any line that this process logs.

mod run;
mod search;

use testkit::browser::Browser;
use testkit::fresh;
use testkit::leak_check::{LeakCheck, drawn};

use crate::login::{FLOWS, PROVIDERS};
use crate::logs;
use crate::test_stack::TestStack;
use run::{Run, Secret};

// Threats: A15, A16, CVE-2024-4540.
#[tokio::test]
async fn no_secret_is_in_any_address_page_cookie_or_log_line() {
    let stack = TestStack::start().await;
    let mut run = Run::default();
    for provider in PROVIDERS {
        for flow in FLOWS {
            run.log_in(&stack, flow, provider).await;
            // One of each kind; `failures` covers what they lack.
            let all = stack.provider(provider).misbehaviours();
            for kind in all.chunk_by(|one, other| one.group() == other.group()) {
                stack.queue_misbehaviour(provider, kind[0]);
                run.log_in(&stack, flow, provider).await;
            }
            run.get_refused(&stack, flow, provider).await;
            run.use_demo(&stack, flow, provider).await;
            run.lose_responses(&stack, provider).await;
        }
    }
    run.record_secrets_of(&stack).await;
    run.check(&stack);
    run.check_control(&stack).await;
}

#[tokio::test]
async fn the_demos_pages_hold_nothing_that_looks_like_a_secret_but_the_subject() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let mut run = Run::default();
            run.use_demo(&stack, flow, provider).await;
            for step in run
                .steps
                .iter()
                .filter(|step| step.url.starts_with(&stack.demo("/")))
            {
                let found = drawn(step.response.text()).find(|word| !word.starts_with("sub_"));
                assert_eq!(found, None, "{}", step.url);
            }
        }
    }
}

// Threats: A15.
#[tokio::test]
async fn a_careless_line_of_the_log_is_found() {
    logs::listen();
    // Neither drawn nor marked: else it would fail every test of this process.
    let planted = "planted-Secret_7/+ü=&%?";
    tracing::trace!(target: "planted", "a careless line with {planted}");
    let leak_check = LeakCheck::over([("planted", planted)]);
    assert_eq!(leak_check.search(logs::text()).len(), 1);
}

#[tokio::test]
async fn the_search_fails_a_run_in_which_a_browser_saw_a_secret() {
    let stack = TestStack::start().await;
    let careless = format!("{}/callback/google?session_key=", stack.broker());
    let key = fresh::secret();
    let browser = Browser::new();
    browser.open(&format!("{careless}{key}")).await;
    let run = Run {
        steps: browser.steps(),
        secrets: vec![Secret::nowhere("session key", &key)],
    };
    assert_eq!(run.leaks(&stack).len(), 1, "{:?}", run.leaks(&stack));
}

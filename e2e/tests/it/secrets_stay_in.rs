//! No secret is where it does not belong: in an address, a page, a cookie, a
//! `Referer` or any line that this process logs. The whole stack, searched once, after
//! every kind of success, failure, refusal and lost answer.

mod run;
mod search;

use testkit::login::{FLOWS, PROVIDERS};

use crate::test_stack::TestStack;
use run::Run;

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

//! The order of an examination, and its end.

use stack::{Stack, StackSettings};
use tokio::net::TcpListener;
use url::Url;

use super::*;
use crate::time::pause;

fn check(id: &str) -> &'static Check {
    let mut checks = catalogue::checks().iter();
    checks.find(|it| it.id == id).unwrap()
}

/// A stack whose providers sign everybody in at once, as that of `just up` does.
async fn automatic_stack() -> Stack {
    let settings = StackSettings {
        automatic: true,
        ..StackSettings::for_tests()
    };
    Stack::start(settings).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_examination_leaves_the_providers_as_they_were() {
    let stack = automatic_stack().await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = format!("http://{}/", silent.local_addr().unwrap());
    let plan = ExaminationPlan {
        control: stack.urls().control.clone(),
        ..ExaminationPlan::new(Url::parse(&start).unwrap())
    };
    let control = crate::control::Control::at(&plan.control).unwrap();
    let interruption = async {
        while control.mode("github").await.unwrap() == "automatic" {
            pause(std::time::Duration::from_millis(10)).await;
        }
    };
    let ended = examine_until(&plan, &mut |_| {}, interruption).await;
    assert!(ended.unwrap().is_none());
    assert_eq!(control.mode("google").await.unwrap(), "automatic");
    assert_eq!(control.mode("github").await.unwrap(), "automatic");
}

#[tokio::test]
async fn a_check_that_panics_is_trouble_of_the_examiner() {
    let check = check("key-fresh");
    let panicking = async { None::<CheckResult>.unwrap() };
    let result = workers::guarded(check, panicking).await;
    assert_eq!(result.verdict, Verdict::Harness);
    assert!(result.actual.contains("panicked"), "{}", result.actual);
}

//! The order of an examination, and its end.

use stack::{Stack, StackSettings};
use tokio::net::TcpListener;
use url::Url;

use super::run_check::{concerned_flows, worst_of};
use super::*;
use crate::app::SignInWay;
use crate::result::CheckResult;
use crate::time::pause;
use crate::verdict::{Stop, Verdict};

fn check(id: &str) -> &'static Check {
    catalogue::check(id).unwrap()
}

fn way(flow: Flow) -> SignInWay {
    SignInWay {
        flow,
        provider: "google",
        steps: Vec::new(),
        callback: "/callback".to_owned(),
    }
}

/// An app with both flows.
fn app() -> App {
    App {
        ways: vec![way(Flow::Clean), way(Flow::Legacy)],
        whoami: "/".to_owned(),
        sign_out_page: "/".to_owned(),
        ..App::default()
    }
}

/// A stack whose providers sign everybody in at once, as that of `just up` does.
async fn automatic_stack() -> Stack {
    let settings = StackSettings {
        automatic: true,
        ..StackSettings::for_tests()
    };
    Stack::start(settings).await.unwrap()
}

#[test]
fn a_check_ends_with_a_good_sign_in_by_every_flow_that_it_concerns() {
    let app = app();
    let of = |id| concerned_flows(&app, check(id));
    assert_eq!(of("binding-required"), [Flow::Clean, Flow::Legacy]);
    assert_eq!(of("state-checked"), [Flow::Legacy]);
    assert_eq!(of("key-fresh"), [Flow::Clean]);
}

#[test]
fn a_takeover_in_one_flow_counts_more_than_a_failure_in_the_other() {
    let check = check("binding-required");
    let result = |stop, flow| CheckResult::new(check, Err(stop), Some(flow), Vec::new());
    let worst = worst_of(vec![
        result(Stop::fail("it asks the broker"), Flow::Clean),
        result(Stop::takeover("the attacker is the victim"), Flow::Legacy),
    ]);
    let worst = worst.unwrap();
    assert!(worst.is_takeover && worst.flow == Some(Flow::Legacy));
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

#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_which_nothing_is_known_is_not_tested() {
    let stack = automatic_stack().await;
    let start = Url::parse("http://localhost:1/").unwrap();
    let testbed = Testbed::attach(&stack.urls().control, &start)
        .await
        .unwrap();
    let app = app();
    let trial = Trial::new(&testbed, &app, Flow::Clean);
    let stops = [
        trial.sign_out_step().map(drop).unwrap_err(),
        testbed.restart_app().await.unwrap_err(),
    ];
    for stop in stops {
        assert_eq!(stop.verdict, Verdict::NotTested, "{}", stop.actual);
    }
}

#[tokio::test]
async fn a_check_that_panics_is_a_failure_of_the_examiner() {
    let check = check("key-fresh");
    let panicking = async { Vec::<CheckResult>::new().pop().unwrap() };
    let result = workers::guarded(check, panicking).await;
    assert_eq!(result.verdict, Verdict::Harness);
    assert!(result.actual.contains("panicked"), "{}", result.actual);
}

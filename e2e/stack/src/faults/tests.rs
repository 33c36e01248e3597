//! The calls that an armed fault counts.

use super::*;

fn operation(name: &str) -> BrokerOperation {
    name.parse().expect("one of the broker's")
}

fn read() -> BrokerOperation {
    operation("POST /v1/login/result")
}

fn project(id: &str) -> Option<ClientId> {
    Some(id.parse().expect("an id"))
}

/// Whether a call of this project, or of an unknown one, meets a fault.
fn triggers(faults: &Faults, client_id: Option<&str>) -> bool {
    let owner = CallOwner {
        login: Some(LoginId::of_state(&"A".repeat(43).parse().expect("a state"))),
        project: client_id.and_then(project),
    };
    faults.trigger(read(), &owner).is_some()
}

fn armed_for(client_id: Option<&str>, nth: u32) -> Faults {
    let faults = Faults::default();
    faults.arm(FaultInjection {
        client_id: client_id.and_then(project),
        nth,
        ..FaultInjection::next(read(), Fault::Html502)
    });
    faults
}

#[test]
fn a_fault_for_a_project_counts_the_calls_of_that_project_alone() {
    let faults = armed_for(Some("a"), 3);
    let calls = [Some("a"), Some("b"), None, Some("a"), Some("b"), None];
    assert!(!calls.iter().any(|call| triggers(&faults, *call)));
    assert_eq!(faults.armed()[0].passes, Some(0));
    assert!(!triggers(&faults, Some("b")));
    assert!(triggers(&faults, Some("a")));
    assert!(!triggers(&faults, Some("a")));
}

#[test]
fn a_fault_without_a_project_counts_every_call() {
    let faults = armed_for(None, 4);
    let calls = [Some("a"), Some("b"), None];
    assert!(!calls.iter().any(|call| triggers(&faults, *call)));
    assert!(triggers(&faults, Some("b")));
}

#[test]
fn a_fault_for_another_project_does_not_hide_one_that_is_due() {
    let faults = armed_for(Some("b"), 1);
    faults.arm(FaultInjection::next(read(), Fault::Refuse).for_client("a".parse().expect("an id")));
    assert!(triggers(&faults, Some("a")));
    let waiting: Vec<_> = faults.armed().into_iter().map(|it| it.client_id).collect();
    assert_eq!(waiting, [project("b")]);
}

#[test]
fn a_sticky_fault_for_a_project_spares_the_login_in_another_project() {
    let faults = Faults::default();
    let sticky = FaultInjection::next(read(), Fault::Html502).sticky();
    faults.arm(sticky.for_client("a".parse().expect("an id")));
    assert!(triggers(&faults, Some("a")));
    assert!(!triggers(&faults, Some("b")));
    assert!(triggers(&faults, Some("a")));
}

#[test]
fn one_fault_of_two_is_disarmed() {
    let faults = Faults::default();
    let first = faults.arm(FaultInjection::next(read(), Fault::Refuse));
    let second = faults.arm(FaultInjection::next(read(), Fault::Refuse));
    assert!(faults.disarm(first));
    assert!(!faults.disarm(first));
    let armed: Vec<_> = faults.armed().into_iter().map(|it| it.id).collect();
    assert_eq!(armed, [second]);
}

#[test]
fn a_fault_counts_the_call_at_which_an_older_one_triggers() {
    let faults = Faults::default();
    for nth in 1..=3 {
        faults.arm(FaultInjection::next(read(), Fault::Refuse).nth(nth));
    }
    assert!((1..=3).all(|_| triggers(&faults, None)));
    assert!(faults.armed().is_empty());
}

#[test]
fn of_two_faults_that_are_due_the_younger_one_waits_for_the_next_call() {
    let faults = Faults::default();
    for _ in 0..2 {
        faults.arm(FaultInjection::next(read(), Fault::Refuse));
    }
    assert!(triggers(&faults, None));
    assert_eq!(faults.armed().len(), 1);
    assert!(triggers(&faults, None));
}

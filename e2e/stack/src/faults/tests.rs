//! The calls that an armed fault counts.

use super::*;

fn read() -> BrokerOperation {
    "POST /v1/login/result".parse().expect("an operation")
}

/// The project of this name, or none for `-`.
fn project(name: &str) -> Option<ClientId> {
    (name != "-").then(|| name.parse().expect("an id"))
}

/// Arms `a@3`: a fault at the third call of the project; with a `*` it is sticky.
fn arm(faults: &Faults, fault: &str) {
    let (name, nth) = fault.split_once('@').expect(fault);
    let count = nth.trim_end_matches('*').parse().expect(fault);
    let mut injection = FaultInjection::next(read(), Fault::Html502).nth(count);
    if let Some(project) = project(name) {
        injection = injection.for_client(project);
    }
    if nth.ends_with('*') {
        injection = injection.sticky();
    }
    faults.arm(injection);
}

/// A call of the project for a login, as `a`; or `a!`, if it met a fault.
fn call(faults: &Faults, name: &str) -> String {
    let owner = CallOwner {
        login: Some(LoginId::of_state(&"A".repeat(43).parse().expect("a state"))),
        project: project(name),
    };
    let met = faults.trigger(read(), &owner);
    format!("{name}{}", met.map_or("", |_| "!"))
}

/// The armed faults, as `a@3` with the number of the call that each meets, or `a@*` for one
/// that sticks to a login.
fn listed(faults: &Faults) -> String {
    let listed = faults.armed().into_iter().map(|it| {
        let name = it.client_id.as_ref().map_or("-", ClientId::as_str);
        match it.passes {
            Some(passes) => format!("{name}@{}", passes + 1),
            None => format!("{name}@*"),
        }
    });
    listed.collect::<Vec<_>>().join(" ")
}

#[test]
fn an_armed_fault_meets_the_call_up_to_which_it_counted() {
    for (rule, armed, calls, left) in [
        (
            "one of a project counts no other",
            "a@3",
            "a b - a b -",
            "a@1",
        ),
        ("and meets its own call", "a@3", "a b - a b - b a! a", ""),
        ("one of no project counts all", "-@4", "a b - b!", ""),
        ("one of another project hides none", "b@1 a@1", "a!", "b@1"),
        (
            "a sticky one spares other projects",
            "a@1*",
            "a! b a!",
            "a@*",
        ),
        ("a call with a fault counts", "-@1 -@2 -@3", "-! -! -!", ""),
        (
            "the younger of two that are due waits",
            "-@1 -@1",
            "-!",
            "-@1",
        ),
        ("and meets the next call", "-@1 -@1", "-! -!", ""),
    ] {
        let faults = Faults::default();
        armed.split(' ').for_each(|fault| arm(&faults, fault));
        let names = calls.split(' ').map(|call| call.trim_end_matches('!'));
        let met: Vec<_> = names.map(|name| call(&faults, name)).collect();
        assert_eq!(met.join(" "), calls, "{rule}");
        assert_eq!(listed(&faults), left, "{rule}");
    }
}

#[test]
fn one_fault_of_two_is_disarmed() {
    let faults = Faults::default();
    let [first, second] = [(); 2].map(|()| faults.arm(FaultInjection::next(read(), Fault::Refuse)));
    assert!(faults.disarm(first));
    assert!(!faults.disarm(first));
    let armed: Vec<_> = faults.armed().into_iter().map(|it| it.id).collect();
    assert_eq!(armed, [second]);
}

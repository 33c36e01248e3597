//! Three implementations must agree on every request body: the published JSON Schema,
//! a running broker, and a plain implementation of the specification's tables.
//!
//! [`reading::Beyond`] lists the allowed differences. Each
//! request type has 10,000 bodies in every run; `PROPTEST_CASES`, or
//! `just differential`, asks for another number.

mod addresses;
mod bodies;
mod body;
mod reading;
mod served;
mod uris;
mod values;

use std::cell::RefCell;
use std::collections::BTreeMap;

use jsonschema::Validator;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::Value;

use body::{Body, Endpoint};
use reading::{Begun, Reading};
use served::{Broker, Verdict};

/// The number of bodies of each request type in a run.
const BODIES: u32 = 10_000;

#[test]
fn three_judges_agree_on_login_session_requests() {
    judge(Endpoint::Session);
}

#[test]
fn three_judges_agree_on_login_result_requests() {
    judge(Endpoint::Result);
}

#[test]
fn three_judges_agree_on_token_requests() {
    judge(Endpoint::Token);
}

fn judge(endpoint: Endpoint) {
    let cases = testkit::fuzz::cases(BODIES);
    let judges = Judges {
        schema: testkit::openapi::schema(endpoint.schema()),
        broker: Broker::start(),
        begun: RefCell::default(),
        met: RefCell::default(),
    };
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    });
    let ran = runner.run(&bodies::of(endpoint), |body| judges.hear(&body));
    if let Err(disagreement) = ran {
        panic!("{disagreement}");
    }
    let met = judges.met.into_inner();
    tell(&format!("{cases} bodies: {met:?}"));
    if cases >= BODIES {
        check_coverage(endpoint, &met);
    }
}

#[expect(clippy::print_stdout, reason = "a long run says what it has met")]
fn tell(what: &str) {
    println!("{what}");
}

/// The number of bodies by the rule that refused them; `None` for well-formed ones.
type Met = BTreeMap<Option<String>, u32>;

/// Agreement on nothing but refusals, or on one kind of them, would prove little.
fn check_coverage(endpoint: Endpoint, met: &Met) {
    let all: u32 = met.values().sum();
    let well_formed = met.get(&None).copied().unwrap_or_default();
    assert!(
        well_formed > all / 5 && well_formed < all / 5 * 4,
        "{met:?}"
    );
    for rule in reading::rules(endpoint) {
        let count = met.get(&Some(rule.to_owned())).copied();
        assert!(count.unwrap_or_default() > 10, "{rule} in {met:?}");
    }
}

struct Judges {
    schema: Validator,
    broker: Broker,
    begun: RefCell<Begun>,
    met: RefCell<Met>,
}

impl Judges {
    fn hear(&self, body: &Body) -> Result<(), TestCaseError> {
        let text = body.text();
        let reading = reading::read(body, &text, &mut self.begun.borrow_mut());
        let schema = match serde_json::from_str::<Value>(&text) {
            Ok(value) => self.schema.is_valid(&value),
            // What is no JSON is nothing that a schema could accept.
            Err(_) => false,
        };
        let verdict = self.broker.judge(body.endpoint, &text);
        let shown = || format!("{text}\n{reading:?}\n{verdict:?}");
        let agreed = |agree: bool, about: &str| match agree {
            true => Ok(()),
            false => Err(TestCaseError::fail(format!("{about}: {}", shown()))),
        };
        agreed(
            schema == reading.pleases_a_schema(),
            &format!("the schema says {schema}"),
        )?;
        agreed(
            verdict.is_well_formed() == reading.is_well_formed(),
            "the broker differs",
        )?;
        agreed(is_justified(&verdict, &reading), "for another reason")?;
        let met = verdict.rule.filter(|_| !reading.is_well_formed());
        *self.met.borrow_mut().entry(met).or_default() += 1;
        Ok(())
    }
}

/// Whether the broker's rule and status follow from the reading.
fn is_justified(verdict: &Verdict, reading: &Reading) -> bool {
    match &verdict.rule {
        Some(rule) if !reading.is_well_formed() => {
            verdict.status == reading::status(rule)
                && reading.faults.iter().any(|fault| fault.rule == rule)
        }
        rule => (verdict.status, rule.as_deref()) == reading.outcome,
    }
}

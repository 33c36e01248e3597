//! Three implementations must agree on every request body: the published JSON Schema,
//! a running broker, and a plain implementation of the specification's tables.
//!
//! [`reading::SchemaGap`] lists the allowed differences. Each
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
use reading::{Reading, StartedKeys};
use served::{Broker, Verdict};

/// The number of bodies of each request type in a run.
const BODIES: u32 = 10_000;

#[test]
fn schema_broker_and_tables_agree_on_login_session_requests() {
    compare(Endpoint::Session);
}

#[test]
fn schema_broker_and_tables_agree_on_login_result_requests() {
    compare(Endpoint::Result);
}

#[test]
fn schema_broker_and_tables_agree_on_token_requests() {
    compare(Endpoint::Token);
}

fn compare(endpoint: Endpoint) {
    let cases = testkit::fuzz::cases(BODIES);
    let implementations = Implementations {
        schema: testkit::openapi::schema(endpoint.schema()),
        broker: Broker::start(),
        started: RefCell::default(),
        outcomes: RefCell::default(),
    };
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    });
    let ran = runner.run(&bodies::of(endpoint), |body| implementations.check(&body));
    if let Err(disagreement) = ran {
        panic!("{disagreement}");
    }
    let outcomes = implementations.outcomes.into_inner();
    print(&format!("{cases} bodies: {outcomes:?}"));
    if cases >= BODIES {
        check_coverage(endpoint, &outcomes);
    }
}

#[expect(clippy::print_stdout, reason = "a long run says what it has outcomes")]
fn print(report: &str) {
    println!("{report}");
}

/// The number of bodies by the rule that refused them; `None` for well-formed ones.
type Outcomes = BTreeMap<Option<String>, u32>;

/// Agreement on nothing but refusals, or on one kind of them, would show little.
fn check_coverage(endpoint: Endpoint, outcomes: &Outcomes) {
    let all: u32 = outcomes.values().sum();
    let well_formed = outcomes.get(&None).copied().unwrap_or_default();
    assert!(
        well_formed > all / 5 && well_formed < all / 5 * 4,
        "{outcomes:?}"
    );
    for rule in reading::rules(endpoint) {
        let count = outcomes.get(&Some(rule.to_owned())).copied();
        assert!(count.unwrap_or_default() > 10, "{rule} in {outcomes:?}");
    }
}

struct Implementations {
    schema: Validator,
    broker: Broker,
    started: RefCell<StartedKeys>,
    outcomes: RefCell<Outcomes>,
}

impl Implementations {
    fn check(&self, body: &Body) -> Result<(), TestCaseError> {
        let text = body.text();
        let reading = reading::read(body, &text, &mut self.started.borrow_mut());
        let schema = match serde_json::from_str::<Value>(&text) {
            Ok(value) => self.schema.is_valid(&value),
            // What is no JSON is nothing that a schema could accept.
            Err(_) => false,
        };
        let verdict = self.broker.verdict(body.endpoint, &text);
        let shown = || format!("{text}\n{reading:?}\n{verdict:?}");
        let agreed = |agree: bool, about: &str| match agree {
            true => Ok(()),
            false => Err(TestCaseError::fail(format!("{about}: {}", shown()))),
        };
        agreed(
            schema == reading.is_valid_by_schema(),
            &format!("the schema says {schema}"),
        )?;
        agreed(
            verdict.is_well_formed() == reading.is_well_formed(),
            "the broker differs",
        )?;
        agreed(is_justified(&verdict, &reading), "for another reason")?;
        let outcomes = verdict.rule.filter(|_| !reading.is_well_formed());
        *self.outcomes.borrow_mut().entry(outcomes).or_default() += 1;
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

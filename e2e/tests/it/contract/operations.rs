//! The document's operations are the broker's routes.

use std::collections::BTreeSet;

use broker::{Broker, Dependencies};

use crate::test_broker::parts;
use crate::test_stack::TestStack;
use testkit::browser::UNSERVED;
use testkit::openapi::{NOT_PUBLISHED, operations};

/// Method and path of every route that serves something: the gates before all
/// routes have no name, and wrong methods are named so.
fn routes() -> BTreeSet<(String, String)> {
    let config = parts::config(UNSERVED, UNSERVED, UNSERVED, "secret");
    let broker = Broker::assemble(config, Dependencies::default()).expect("a broker");
    let rocket = broker.rocket();
    rocket
        .routes()
        .filter(|route| {
            route
                .name
                .as_ref()
                .is_some_and(|name| name != "wrong method")
        })
        .map(|route| (route.method.to_string(), template(route.uri.path())))
        .filter(|(_, path)| !NOT_PUBLISHED.contains(&&**path))
        .collect()
}

/// `/login/<handle>` as OpenAPI writes it, whatever a route calls its part.
fn template(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        part if part.starts_with('<') => "{}",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn every_route_is_in_the_document_and_every_operation_is_a_route() {
    let documented: BTreeSet<_> = operations()
        .map(|(method, path, _)| (method.to_owned(), template(&path.replace('{', "<"))))
        .collect();
    assert_eq!(documented, routes());
}

#[tokio::test]
async fn the_served_contract_is_the_one_that_responses_are_checked_against() {
    let stack = TestStack::start().await;
    let request = stack.backend.http.get("/openapi.json");
    let response = request.send().await;
    response.is(200, ::contract::openapi::DOCUMENT);
}

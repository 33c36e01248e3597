//! Every answer of a broker that these suites see is held against the published
//! contract.

use reqwest::Method;

use crate::reply::Reply;

/// Asserts that a broker may answer like this; the answers of others pass.
#[track_caller]
pub(crate) fn check(method: &Method, path: &str, reply: &Reply) {
    if let Err(complaint) = judge(method, path, reply) {
        panic!("the contract does not show {method} {path} answering {reply:?}: {complaint}");
    }
}

/// What is wrong with `reply` by the published contract, if anything is.
pub(crate) fn judge(method: &Method, path: &str, reply: &Reply) -> Result<(), String> {
    let answer = testkit::openapi::Answer {
        status: reply.status,
        headers: &reply.headers,
        body: &reply.body,
    };
    testkit::openapi::judge(method, path, &answer)
}

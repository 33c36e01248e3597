//! The cover of an exploration, and its gaps. Each rule by which the broker refuses
//! is met by a transition or stands in [`RULES`], with the reason.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use contract::Rule;

/// Rules that no transition meets, and why.
const RULES: [(&str, &[&str]); 5] = [
    (
        "the form of a request, judged before any value is looked up: the broker's HTTP suite, its \
         fuzz tests and the conformance runner",
        &[
            "request.path request.method request.secret_in_url request.verifier_in_url",
            "request.http request.cookies body.media_type body.json body.unknown_field",
            "body.missing_field body.field_type body.duplicate_field body.encoding body.size",
            "body.time client_id.length client_secret.length redirect_uri.shape",
            "redirect_uri.canonical authorization_url.shape session_key.pattern provider.known",
            "code.length grant_type.constant code_verifier.pattern bearer.shape bearer.once",
            "authorize.client authorize.once authorize.challenge_method",
            "authorize.response_type state.pattern code_challenge.pattern origin.shape digest.text",
        ],
    ),
    (
        "what a browser sends beside its cookies: the suites of the relay guard, and Chromium",
        &["relay.own_page request.prefetch upstream_login.same_traits"],
    ),
    (
        "limits over the requests of many logins: the broker's suite of limits",
        &["client.rate_limit session.quota upstream_login.rate_limit broker.overload"],
    ),
    (
        "a configuration, a store or a broker that fails: the crashes and the soak",
        &["provider.offered store.reachable broker.fault"],
    ),
    (
        "a token that was never issued, or is forgotten long after its end: the broker's HTTP and storage suites",
        &["bearer.known"],
    ),
];

/// Bounds of the enumeration, and why they are where they are.
const BOUNDS: &str = include_str!("bounds.txt");

/// The list of all gaps, for readers.
pub(crate) fn left_out() -> String {
    let mut text = format!("Not enumerated:\n{BOUNDS}");
    for (why, rules) in RULES {
        let _ = writeln!(text, "  {}: {why}", rules.join(" "));
    }
    text
}

/// Compares the rules that refused something with the catalogue. Their number.
///
/// # Errors
///
/// A rule that was neither met nor left out, or both.
pub(crate) fn check(met: impl Iterator<Item = String>) -> Result<usize, String> {
    let met: BTreeSet<_> = met.filter(|it| !it.is_empty()).collect();
    let left_out = RULES.iter().flat_map(|(_, rules)| *rules);
    let left_out: BTreeSet<_> = left_out.flat_map(|it| it.split(' ')).collect();
    let all: BTreeSet<_> = Rule::ALL.iter().map(|it| it.id()).collect();
    let is_wrong = |it: &&&str| met.contains(**it) == left_out.contains(**it);
    let wrong: Vec<_> = all.iter().filter(is_wrong).collect();
    let unknown: Vec<_> = left_out.difference(&all).collect();
    match wrong.is_empty() && unknown.is_empty() {
        true => Ok(met.len()),
        false => Err(format!(
            "rules that are neither met nor left out, or both: {wrong:?}; unknown: {unknown:?}"
        )),
    }
}

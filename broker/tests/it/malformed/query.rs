//! Malformed queries of `/authorize`: those that are answered, and not redirected,
//! because they do not show where the browser came from.

use url::form_urlencoded::Serializer;

use super::callback::near_misses;
use super::{Endpoint, MalformedRequest, Rules};

type Parameters = [(&'static str, String)];

const CLIENT: Rules = &["authorize.client"];
const CALLBACK: Rules = &["redirect_uri.registered"];
const ONCE: Rules = &["authorize.once"];

pub(super) fn requests(endpoint: &Endpoint, parameters: &Parameters) -> Vec<MalformedRequest> {
    let callback = value(parameters, "redirect_uri");
    let client = value(parameters, "client_id");
    let with = |rules, name: String, query: String| {
        endpoint.malformed((400, rules), name, |it| {
            it.target = format!("{}?{query}", endpoint.path);
        })
    };
    let set = |rules, parameter: &'static str, value: &str| {
        let mut changed = without(parameters, parameter);
        changed.push((parameter, value.to_owned()));
        with(rules, format!("{parameter}={value}"), encode(&changed))
    };
    let more = |parameter: &'static str, value: &str| {
        let mut changed = parameters.to_vec();
        changed.push((parameter, value.to_owned()));
        with(
            ONCE,
            format!("a second {parameter}={value}"),
            encode(&changed),
        )
    };
    let mut requests = vec![
        with(
            CLIENT,
            "no client_id".into(),
            encode(&without(parameters, "client_id")),
        ),
        with(
            CALLBACK,
            "no redirect_uri".into(),
            encode(&without(parameters, "redirect_uri")),
        ),
        set(CALLBACK, "redirect_uri", ""),
        more("redirect_uri", callback),
        more("redirect_uri", "https://evil.example/"),
    ];
    for query in ["", "client_id", "%", "redirect_uri=https://evil.example/"] {
        requests.push(with(CLIENT, format!("the query {query:?}"), query.into()));
    }
    for other in ["", "unknown", &client.to_uppercase(), &"x".repeat(101)] {
        requests.push(set(CLIENT, "client_id", other));
    }
    for second in ["", "unknown", client] {
        requests.push(more("client_id", second));
    }
    for miss in near_misses(callback) {
        requests.push(set(CALLBACK, "redirect_uri", &miss));
    }
    requests
}

/// The parameters as they are written in a URL.
pub(super) fn encode(parameters: &Parameters) -> String {
    Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish()
}

fn without(parameters: &Parameters, name: &str) -> Vec<(&'static str, String)> {
    let others = parameters.iter().filter(|(known, _)| *known != name);
    others.cloned().collect()
}

fn value<'a>(parameters: &'a Parameters, name: &str) -> &'a str {
    let found = parameters.iter().find(|(known, _)| *known == name);
    &found.expect("an accepted request has it").1
}

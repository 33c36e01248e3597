//! Malformed bodies of JSON, and bodies that are declared as something else.

mod fields;
mod syntax;

use serde_json::Value;

use super::{Endpoint, MalformedRequest, Rules};

/// A body that must be refused: what is wrong, its bytes and the rules.
type Body = (String, Vec<u8>, Rules);

pub(super) fn requests(endpoint: &Endpoint, body: &Value) -> Vec<MalformedRequest> {
    let bodies = [syntax::bodies(body), fields::bodies(body)].concat();
    let mut requests: Vec<_> = bodies
        .into_iter()
        .map(|(name, bytes, rules)| endpoint.malformed((400, rules), name, |it| it.body = bytes))
        .collect();
    requests.extend(media_types(endpoint));
    requests.extend(encodings(endpoint));
    for length in [32 * 1024 + 1, 64 * 1024, 256 * 1024] {
        let name = format!("{length} bytes");
        requests.push(endpoint.malformed((413, &["body.size"]), name, |it| {
            it.body.resize(length, b' ');
        }));
    }
    requests
}

fn media_types(endpoint: &Endpoint) -> Vec<MalformedRequest> {
    let declared = |name: String, values: &[&str]| {
        endpoint.malformed((415, &["body.media_type"]), name, |it| {
            let values = values.iter().map(|it| ("content-type", (*it).to_owned()));
            it.headers = values.collect();
        })
    };
    let mut requests = vec![declared("no content type".into(), &[])];
    for media_type in [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json5",
        "application/jsonp",
        "application/ld+json",
        "application/vnd.api+json",
        "application/*",
        "*/*",
        "json",
        "",
        ";application/json",
        "application/json, application/json",
        "application/json, text/plain",
        "application/json charset=utf-8",
    ] {
        requests.push(declared(format!("{media_type:?}"), &[media_type]));
    }
    for pair in [
        ["application/json", "application/json"],
        ["application/json", "text/plain"],
        ["text/plain", "application/json"],
        ["application/json", ""],
    ] {
        requests.push(declared(format!("{pair:?}"), &pair));
    }
    requests
}

/// A body is never decoded, so one that is marked as encoded is not what it says.
fn encodings(endpoint: &Endpoint) -> Vec<MalformedRequest> {
    let all: [&[&str]; 6] = [
        &["gzip"],
        &["GZIP"],
        &["br"],
        &["x-unknown"],
        &["gzip, identity"],
        &["identity", "gzip"],
    ];
    let marked = all.map(|values| {
        endpoint.malformed((415, &["body.encoding"]), format!("{values:?}"), |it| {
            let values = values
                .iter()
                .map(|it| ("content-encoding", (*it).to_owned()));
            it.headers.extend(values);
        })
    });
    marked.into()
}

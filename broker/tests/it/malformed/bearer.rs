//! Malformed `Authorization` headers.

use super::{Endpoint, MalformedRequest};

pub(super) fn requests(endpoint: &Endpoint, token: &str) -> Vec<MalformedRequest> {
    let refused = |refusal, name: String, values: Vec<String>| {
        endpoint.malformed(refusal, name, |it| {
            let values = values.into_iter().map(|value| ("authorization", value));
            it.headers = values.collect();
        })
    };
    let with = |name, values| refused((401, &["bearer.shape"]), name, values);
    let twice = vec![format!("Bearer {token}"); 2];
    let mut requests = vec![
        with("no token".into(), vec![]),
        refused((400, &["bearer.once"]), "two headers".into(), twice),
    ];
    let headers = malformed_bearers(token).into_iter();
    requests.extend(
        headers
            .chain(other_schemes(token))
            .map(|value| with(value.replace(token, "…"), vec![value])),
    );
    requests
}

/// Headers of the scheme `Bearer` without one well-formed token, made of `token`.
pub(crate) fn malformed_bearers(token: &str) -> Vec<String> {
    vec![
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer x".to_owned(),
        format!("Bearer\t{token}"),
        format!("Bearer {token}x"),
        format!("Bearer {token},"),
        format!("Bearer {token} {token}"),
        format!("Bearer {token}, Bearer {token}"),
        format!("Bearer \"{token}\""),
        format!("Bearer {}", &token[..token.len() - 1]),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer {}", token.replacen("fsi_", "", 1)),
        format!("Bearer {}", token.replacen("fsi_", "gho_", 1)),
        format!("Bearer: {token}"),
        format!("Bearer={token}"),
    ]
}

/// Headers of another scheme than `Bearer`, or of none.
pub(crate) fn other_schemes(token: &str) -> Vec<String> {
    vec![
        "Basic cHJqX2FkYTpzZWNyZXQ=".to_owned(),
        format!("Basic {token}"),
        format!("Token {token}"),
        format!("DPoP {token}"),
        format!("Bearer{token}"),
        format!("Bearer-x {token}"),
        token.to_owned(),
        String::new(),
    ]
}

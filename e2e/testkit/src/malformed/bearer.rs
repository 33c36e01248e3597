//! Malformed `Authorization` headers.

use super::{Endpoint, MalformedRequest};

pub(super) fn requests(endpoint: &Endpoint, token: &str) -> Vec<MalformedRequest> {
    let with = |name: String, values: Vec<String>| {
        endpoint.malformed((401, &["bearer.shape"]), name, |it| {
            let values = values.into_iter().map(|value| ("authorization", value));
            it.headers = values.collect();
        })
    };
    let mut requests = vec![
        with("no token".into(), vec![]),
        with("two headers".into(), vec![format!("Bearer {token}"); 2]),
    ];
    for value in [
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
    ] {
        requests.push(with(value.replace(token, "…"), vec![value]));
    }
    for value in [
        "Basic cHJqX2FkYTpzZWNyZXQ=".to_owned(),
        format!("Basic {token}"),
        format!("Token {token}"),
        format!("DPoP {token}"),
        format!("Bearer{token}"),
        token.to_owned(),
        String::new(),
    ] {
        requests.push(with(value.replace(token, "…"), vec![value]));
    }
    requests
}

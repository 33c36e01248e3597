//! The three request bodies on the wire: what is malformed, and that nothing
//! comes of it.

use reqwest::Method;
use serde_json::{Value, json};

use super::world::{Answer, World, key, result_body, session_body, sign_in, token_body, with};

async fn post(world: &World, path: &str, content_type: &str, body: Vec<u8>) -> Answer {
    let request = world
        .request(Method::POST, path)
        .header("Content-Type", content_type)
        .body(body);
    Answer::to(request).await
}

/// Bodies that no endpoint takes, made from a good one.
fn malformed(good: &Value) -> Vec<(String, Vec<u8>)> {
    let text = good.to_string();
    let mut bodies: Vec<(String, Vec<u8>)> = vec![
        ("nothing".into(), Vec::new()),
        ("white space".into(), b" \n\t".to_vec()),
        ("a byte order mark".into(), format!("\u{feff}{text}").into()),
        (
            "UTF-16".into(),
            text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        ),
        ("an array around it".into(), format!("[{text}]").into()),
        ("an array of the values".into(), in_order(good)),
        ("a string of it".into(), json!(text).to_string().into()),
        ("null".into(), b"null".to_vec()),
        ("true".into(), b"true".to_vec()),
        ("a number".into(), b"0".to_vec()),
        ("NaN".into(), b"NaN".to_vec()),
        ("an empty object".into(), b"{}".to_vec()),
        ("an empty array".into(), b"[]".to_vec()),
        (
            "the first half".into(),
            text.as_bytes()[..text.len() / 2].to_vec(),
        ),
        (
            "all but the last brace".into(),
            text.as_bytes()[..text.len() - 1].to_vec(),
        ),
        ("a trailing brace".into(), format!("{text}}}").into()),
        ("a trailing comma".into(), format!("{text},").into()),
        ("a trailing NUL".into(), format!("{text}\0").into()),
        ("a second object".into(), format!("{text}{text}").into()),
        (
            "a second object on a line of its own".into(),
            format!("{text}\n{text}").into(),
        ),
        ("a comment before it".into(), format!("/**/{text}").into()),
        ("a comment after it".into(), format!("{text}//").into()),
        (
            "a prefix against hijacking".into(),
            format!(")]}}'\n{text}").into(),
        ),
        (
            "a comma after the last field".into(),
            text.replace('}', ",}").into(),
        ),
        ("single quotes".into(), text.replace('"', "'").into()),
        (
            "no quotes around names".into(),
            text.replace("\"client_id\"", "client_id").into(),
        ),
        ("form feed before it".into(), format!("\u{c}{text}").into()),
        (
            "a form".into(),
            b"client_id=prj_ada&client_secret=x".to_vec(),
        ),
        ("many open brackets".into(), "[".repeat(20_000).into()),
        (
            "many open objects".into(),
            "{\"client_id\":".repeat(2_000).into(),
        ),
        (
            "a deep unknown field".into(),
            text.replacen(
                '{',
                &format!("{{\"x\":{}{},", "[".repeat(5_000), "]".repeat(5_000)),
                1,
            )
            .into(),
        ),
        (
            "an unknown field".into(),
            text.replacen('{', "{\"x\":1,", 1).into(),
        ),
        (
            "an unknown null".into(),
            text.replacen('{', "{\"x\":null,", 1).into(),
        ),
        (
            "an empty name".into(),
            text.replacen('{', "{\"\":\"\",", 1).into(),
        ),
        (
            "a name in another case".into(),
            text.replace("\"client_id\"", "\"Client_id\"").into(),
        ),
        (
            "a name in camel case".into(),
            text.replace("\"client_id\"", "\"clientId\"").into(),
        ),
        (
            "__proto__".into(),
            text.replacen('{', "{\"__proto__\":{},", 1).into(),
        ),
        (
            "the same name, escaped".into(),
            text.replacen('{', "{\"client\\u005fid\":\"prj_ada\",", 1)
                .into(),
        ),
    ];
    let mut invalid_utf8 = text.replace("prj_ada", "prj_\u{1}").into_bytes();
    for byte in &mut invalid_utf8 {
        if *byte == 1 {
            *byte = 0xFF;
        }
    }
    bodies.push(("invalid UTF-8".into(), invalid_utf8));
    for (label, value) in [
        ("a lone high surrogate", r#""\ud800""#),
        ("a lone low surrogate", r#""\udc00""#),
        ("surrogates in the wrong order", r#""\udc00\ud800""#),
        ("an unknown escape", r#""\x41""#),
        ("a cut escape", r#""\u00""#),
        ("a raw newline in a string", "\"a\nb\""),
        ("NaN in a field", "NaN"),
        ("Infinity in a field", "Infinity"),
        ("a number with a leading zero", "01"),
        ("undefined in a field", "undefined"),
    ] {
        bodies.push((label.into(), text.replace("\"prj_ada\"", value).into()));
    }
    for (field, value) in good.as_object().unwrap() {
        let mut missing = good.clone();
        missing.as_object_mut().unwrap().remove(field);
        bodies.push((format!("no {field}"), missing.to_string().into()));
        let twice = text.replacen('{', &format!("{{{}:{value},", json!(field)), 1);
        bodies.push((format!("{field} twice"), twice.into()));
        for wrong in [
            json!(null),
            json!(1),
            json!(true),
            json!([value]),
            json!({ "a": 1 }),
        ] {
            let label = format!("{field} is {wrong}");
            bodies.push((label, with(good.clone(), field, wrong).to_string().into()));
        }
        let empty = with(good.clone(), field, "").to_string();
        if !(field == "client_id" && good.get("grant_type").is_some()) {
            bodies.push((format!("{field} is empty"), empty.into()));
        }
        let long = with(good.clone(), field, "x".repeat(2049)).to_string();
        bodies.push((format!("{field} is too long"), long.into()));
    }
    bodies
}

/// The values alone, in the order of the specification's table: a lenient parser
/// takes that for the object.
fn in_order(good: &Value) -> Vec<u8> {
    const ORDER: [&str; 8] = [
        "grant_type",
        "client_id",
        "client_secret",
        "code",
        "session_key",
        "provider",
        "redirect_uri",
        "code_verifier",
    ];
    let values: Vec<_> = ORDER.iter().filter_map(|name| good.get(name)).collect();
    assert_eq!(values.len(), good.as_object().unwrap().len());
    json!(values).to_string().into()
}

async fn check_malformed(world: &World, path: &str, good: &Value) {
    let bodies = malformed(good);
    assert!(bodies.len() >= 60);
    let mut expected = None;
    for (label, body) in bodies {
        let answer = post(world, path, "application/json", body).await;
        assert_eq!(answer.status, 400, "{path}, {label}: {}", answer.body);
        answer.is_refused(400);
        // Nothing tells one from another, so nothing of the input is repeated.
        let expected = expected.get_or_insert_with(|| answer.body.clone());
        assert_eq!(*expected, answer.body, "{path}, {label}");
    }
}

#[tokio::test]
async fn a_malformed_session_request_is_refused_and_leaves_its_key_free() {
    let world = World::start().await;
    check_malformed(&world, "/v1/login/session", &session_body(1)).await;
    world.session(1).await;
}

#[tokio::test]
async fn a_malformed_result_request_is_refused_and_consumes_nothing() {
    let world = World::start().await;
    sign_in(&world, 1).await;
    check_malformed(&world, "/v1/login/result", &result_body(1)).await;
    assert_eq!(world.result(1).await.json()["status"], "succeeded");
}

#[tokio::test]
async fn a_malformed_token_request_is_refused_and_redeems_nothing() {
    let world = World::start().await;
    let code = world.code().await;
    check_malformed(&world, "/v1/token", &token_body(&code)).await;
    assert_eq!(world.token(&code).await.status, 200);
}

#[tokio::test]
async fn what_json_allows_is_allowed() {
    let world = World::start().await;
    let check = async |n: u8, write: fn(String) -> String| {
        let body = write(session_body(n).to_string());
        let answer = post(&world, "/v1/login/session", "application/json", body.into()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    };
    check(1, |text| format!(" \t\r\n{text} \t\r\n")).await;
    check(2, |text| text.replace(',', " ,\n")).await;
    check(3, |text| text.replace("prj_ada", "\\u0070rj_ad\\u0061")).await;
    check(4, |text| {
        text.replace("\"client_id\"", "\"client\\u005fid\"")
    })
    .await;
    check(5, |text| text.replace("https://", "https:\\/\\/")).await;
}

#[tokio::test]
async fn a_body_may_be_32_kib_and_no_larger() {
    let world = World::start().await;
    let padded = |n: u8, length: usize| {
        let mut body = session_body(n).to_string();
        body.push_str(&" ".repeat(length - body.len()));
        body.into_bytes()
    };
    let send = async |body| post(&world, "/v1/login/session", "application/json", body).await;
    assert_eq!(send(padded(1, 32 * 1024)).await.status, 200);
    for length in [32 * 1024 + 1, 100_000] {
        let answer = send(padded(2, length)).await;
        answer.is_refused(413);
        assert_eq!(world.last_rule(), Some("body.size"));
    }
    for path in ["/v1/login/result", "/v1/token"] {
        let body = vec![b' '; 32 * 1024 + 1];
        post(&world, path, "application/json", body)
            .await
            .is_refused(413);
    }
    world.session(2).await;
}

#[tokio::test]
async fn every_legitimate_request_fits_with_each_character_escaped() {
    let world = World::start().await;
    let escape = |text: &str| -> String {
        text.chars()
            .map(|c| format!("\\u{:04x}", c as u32))
            .collect()
    };
    let fields = [
        ("client_id", "x".repeat(100)),
        ("client_secret", "x".repeat(200)),
        ("session_key", key(1)),
        (
            "redirect_uri",
            format!("https://a.example/{}", "x".repeat(2030)),
        ),
    ];
    let members: Vec<_> = fields
        .iter()
        .map(|(name, value)| format!("\"{}\":\"{}\"", escape(name), escape(value)))
        .collect();
    let body = format!("{{{}}}", members.join(",")).into_bytes();
    let answer = post(&world, "/v1/login/result", "application/json", body).await;
    // Well formed, but nobody's.
    answer.is_refused(400);
    assert_eq!(world.last_rule(), Some("client.recognised"));
}

/// Asserts that a body of each of these media types is read.
async fn are_json(content_types: &[&str]) {
    let world = World::start().await;
    for (n, content_type) in (1..).zip(content_types) {
        let body = session_body(n).to_string().into();
        let answer = post(&world, "/v1/login/session", content_type, body).await;
        assert_eq!(answer.status, 200, "{content_type}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_media_type_is_compared_without_case_and_parameters() {
    are_json(&[
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        "APPLICATION/JSON; CHARSET=ISO-8859-1",
        "application/json; profile=\"x\"",
    ])
    .await;
}

#[tokio::test]
async fn a_media_type_ends_at_its_first_semicolon() {
    are_json(&[
        "application/json;",
        "application/json ;",
        "application/json ; charset=utf-8",
        "application/json; charset=utf-8;",
        "application/json;;",
        "application/json; charset",
        "application/json;\tcharset=\"utf-8",
    ])
    .await;
}

#[tokio::test]
async fn two_content_type_headers_are_415_even_if_both_are_json() {
    let world = World::start().await;
    for (path, body) in bodies() {
        for (first, second) in [
            ("application/json", "application/json"),
            ("application/json", "text/plain"),
            ("text/plain", "application/json"),
            ("application/json", ""),
        ] {
            let request = world
                .request(Method::POST, path)
                .header("Content-Type", first)
                .header("Content-Type", second)
                .body(body.to_string());
            Answer::to(request).await.is_refused(415);
            assert_eq!(world.last_rule(), Some("body.media_type"), "{path}");
        }
    }
    world.session(1).await;
}

fn bodies() -> [(&'static str, Value); 3] {
    [
        ("/v1/login/session", session_body(1)),
        ("/v1/login/result", result_body(1)),
        ("/v1/token", token_body("code")),
    ]
}

/// A body is never decoded, so what is marked as encoded is not what it says.
#[tokio::test]
async fn a_body_with_a_content_encoding_is_415_at_every_endpoint() {
    let world = World::start().await;
    for (path, body) in bodies() {
        for encoding in ["gzip", "GZIP", "br", "x-unknown", "gzip, identity"] {
            let request = world
                .request(Method::POST, path)
                .header("Content-Encoding", encoding)
                .json(&body);
            Answer::to(request).await.is_refused(415);
            assert_eq!(world.last_rule(), Some("body.encoding"), "{encoding}");
        }
        let twice = world
            .request(Method::POST, path)
            .header("Content-Encoding", "identity")
            .header("Content-Encoding", "gzip")
            .json(&body);
        Answer::to(twice).await.is_refused(415);
    }
    world.session(1).await;
}

#[tokio::test]
async fn a_body_marked_as_identity_is_read() {
    let world = World::start().await;
    for (n, encoding) in (1..).zip(["identity", "Identity", ""]) {
        let request = world
            .request(Method::POST, "/v1/login/session")
            .header("Content-Encoding", encoding)
            .json(&session_body(n));
        assert_eq!(Answer::to(request).await.status, 200, "{encoding:?}");
    }
}

#[tokio::test]
async fn any_other_media_type_is_415_at_every_endpoint() {
    let world = World::start().await;
    for (path, body) in bodies() {
        for content_type in [
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
            "application/json charset=utf-8",
        ] {
            let answer = post(&world, path, content_type, body.to_string().into()).await;
            assert_eq!(answer.status, 415, "{path}, {content_type:?}");
            answer.is_refused(415);
            assert_eq!(world.last_rule(), Some("body.media_type"));
        }
        let bare = world.request(Method::POST, path).body(body.to_string());
        Answer::to(bare).await.is_refused(415);
    }
    world.session(1).await;
}

#[tokio::test]
async fn the_audit_log_names_what_the_answer_does_not() {
    let world = World::start().await;
    let check = async |body: String, rule: &str| {
        let answer = post(&world, "/v1/login/session", "application/json", body.into()).await;
        answer.is_refused(400);
        assert_eq!(world.last_rule(), Some(rule));
        let event = world.events().pop().unwrap();
        assert_eq!(answer.header("x-request-id"), Some(&*event.request_id));
        assert_eq!(event.operation, "POST /v1/login/session");
        assert!(!event.committed());
    };
    let good = || session_body(1);
    check(String::new(), "body.json").await;
    check("[]".into(), "body.json").await;
    check(format!("{} x", good()), "body.json").await;
    check(with(good(), "x", 1).to_string(), "body.unknown_field").await;
    check(
        with(good(), "provider", json!(null)).to_string(),
        "body.field_type",
    )
    .await;
    check("{}".into(), "body.missing_field").await;
    check(
        good()
            .to_string()
            .replacen('{', "{\"provider\":\"github\",", 1),
        "body.duplicate_field",
    )
    .await;
    check(
        with(good(), "client_id", "").to_string(),
        "client_id.length",
    )
    .await;
    check(
        with(good(), "client_secret", "").to_string(),
        "client_secret.length",
    )
    .await;
    check(
        with(good(), "session_key", "x").to_string(),
        "session_key.pattern",
    )
    .await;
    check(
        with(good(), "provider", "gitlab").to_string(),
        "provider.known",
    )
    .await;
    check(
        with(good(), "redirect_uri", "x").to_string(),
        "redirect_uri.shape",
    )
    .await;
}

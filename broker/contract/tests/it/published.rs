//! The published contract: the OpenAPI document, complete, valid, and about the types of this crate
//! (`testkit::openapi` checks every response of a broker against it); and the form of the
//! catalogue of rules, and the search by its sentences.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Debug;

use contract::{
    ApiError, LoginResult, LoginResultRequest, LoginSessionRequest, LoginSessionResponse,
    Malformed, Profile, Provider, ProviderStatus, RedirectUri, Rule, Source, TokenRequest,
    TokenResponse, Transaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

fn document() -> Value {
    serde_json::from_str(contract::openapi::DOCUMENT).unwrap()
}

/// A validator of `schema`, which may refer to the document's components.
fn validator(schema: &Value) -> jsonschema::Validator {
    let whole = json!({
        "$schema": DIALECT,
        "components": document()["components"],
        "allOf": [schema],
    });
    jsonschema::options()
        .should_validate_formats(true)
        .build(&whole)
        .unwrap()
}

/// Calls `visit` with each object in `value` and its path.
fn walk(value: &Value, at: &str, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            visit(at, value);
            for (name, member) in members {
                walk(member, &format!("{at}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{at}/{index}"), visit);
            }
        }
        _ => {}
    }
}

#[test]
fn it_is_openapi_3_1_1_of_contract_0_1_0_in_json_schema_2020_12() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.1");
    assert_eq!(document["info"]["version"], "0.1.0");
    assert_eq!(document["jsonSchemaDialect"], DIALECT);
}

#[test]
fn every_reference_leads_somewhere_in_the_same_document() {
    let document = document();
    let mut count = 0;
    walk(&document, "", &mut |at, object| {
        let Some(target) = object.get("$ref") else {
            return;
        };
        let target = target.as_str().unwrap();
        let pointer = target.strip_prefix('#');
        let found = pointer.and_then(|pointer| document.pointer(pointer));
        assert!(found.is_some(), "{at} refers to {target}");
        count += 1;
    });
    assert!(count > 100, "only {count} references were checked");
}

#[test]
fn every_schema_of_a_file_is_valid_in_its_dialect_and_has_the_specifications_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let schema: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        jsonschema::meta::validate(&schema).unwrap();
        assert_eq!(schema["$schema"], DIALECT, "{}", path.display());
        names.push(schema["title"].as_str().unwrap().to_owned());
    }
    names.sort();
    let document = document();
    let bundled = document["components"]["schemas"].as_object().unwrap();
    let mut known: Vec<_> = bundled.keys().cloned().collect();
    known.sort();
    assert_eq!(names, known);
    for (name, schema) in bundled {
        assert_eq!(schema["title"], **name);
    }
}

#[test]
fn every_example_is_valid() {
    let document = document();
    let mut count = 0;
    let mut check = |at: &str, schema: &Value, example: &Value| {
        let validator = validator(schema);
        let result = validator.validate(example);
        assert_eq!(result.map_err(|error| error.to_string()), Ok(()), "{at}");
        count += 1;
    };
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            check(name, schema, example);
        }
    }
    walk(&document, "", &mut |at, object| {
        // A media type, a parameter or a header: a schema, and examples beside it.
        if let Some(schema) = object.get("schema") {
            if let Some(example) = object.get("example") {
                check(at, schema, example);
            }
            for (name, example) in object.get("examples").into_iter().flat_map(members) {
                let example = match example["$ref"].as_str() {
                    Some(target) => document.pointer(&target[1..]).unwrap(),
                    None => example,
                };
                check(&format!("{at} {name}"), schema, &example["value"]);
            }
        }
    });
    assert!(count > 40, "only {count} examples were checked");
}

fn members(value: &Value) -> &serde_json::Map<String, Value> {
    value.as_object().unwrap()
}

#[test]
fn every_json_body_has_an_example() {
    let document = document();
    walk(&document, "", &mut |at, object| {
        // The document contains no example of itself, and none of an internal error.
        let is_excused = at.contains("openapi.json") || at.contains("/responses/Otherwise");
        if at.ends_with("/content") && !is_excused {
            let is_page_alone = object.get("application/json").is_none();
            let examples = &object["application/json"]["examples"];
            assert!(is_page_alone || examples.is_object(), "{at}");
        }
    });
}

#[test]
fn the_three_requests_take_no_other_fields() {
    let document = document();
    let closed: BTreeSet<_> = members(&document["components"]["schemas"])
        .iter()
        .filter(|(_, schema)| schema["additionalProperties"] == false)
        .map(|(name, _)| name.as_str())
        .collect();
    let requests = ["LoginResultRequest", "LoginSessionRequest", "TokenRequest"];
    assert_eq!(closed, requests.into());
}

/// The members that are secrets.
const SECRETS: &str = "access_token authorization_url client_secret code code_verifier \
                       codeVerifier session_key state";

/// Reads every example of the schema `name` as a `T`, whose `Debug` shows no secret, and
/// writes it back the same.
fn reads<T: DeserializeOwned + Serialize + Debug>(name: &str) {
    let document = document();
    let schema = &document["components"]["schemas"][name];
    let mut examples = Vec::new();
    examples.extend(schema["examples"].as_array().into_iter().flatten());
    examples.extend(schema["enum"].as_array().into_iter().flatten());
    assert!(!examples.is_empty(), "{name} has no example");
    for example in examples {
        let read: T = serde_json::from_value(example.clone()).unwrap();
        for secret in SECRETS.split(' ').filter_map(|it| example[it].as_str()) {
            assert!(!format!("{read:?}").contains(secret), "{read:?}");
        }
        assert_eq!(serde_json::to_value(read).unwrap(), *example, "{name}");
    }
}

#[test]
fn the_types_of_this_crate_read_the_examples_of_their_schemas() {
    let mut types: BTreeMap<&str, fn(&str)> = BTreeMap::new();
    types.insert("Provider", reads::<Provider>);
    types.insert("RedirectUri", reads::<RedirectUri>);
    types.insert("LoginSessionRequest", reads::<LoginSessionRequest>);
    types.insert("LoginSessionResponse", reads::<LoginSessionResponse>);
    types.insert("LoginResultRequest", reads::<LoginResultRequest>);
    types.insert("LoginResult", reads::<LoginResult>);
    types.insert("TokenRequest", reads::<TokenRequest>);
    types.insert("TokenResponse", reads::<TokenResponse>);
    types.insert("Profile", reads::<Profile>);
    types.insert("ProviderStatus", reads::<ProviderStatus>);
    types.insert("ProviderStatuses", reads::<Vec<ProviderStatus>>);
    types.insert("ApiError", reads::<ApiError>);
    types.insert("Transaction", reads::<Transaction>);
    let document = document();
    let schemas = members(&document["components"]["schemas"]);
    let schemas: BTreeSet<_> = schemas.keys().map(String::as_str).collect();
    let named = types.keys().copied().collect();
    assert_eq!(schemas, named, "each schema has its type");
    for (name, read) in types {
        read(name);
    }
}

#[test]
fn sentences_and_the_readme_name_each_field_of_a_profile() {
    let schema = &document()["components"]["schemas"]["Profile"]["properties"];
    let rules = include_str!("../../rules.yaml");
    let types = rules.split("- id: profile.types").nth(1).unwrap();
    let types = types.split("- id:").next().unwrap();
    let readme = include_str!("../../../README.md");
    // Each but the provider, which has a rule of its own.
    for field in members(schema).keys().filter(|it| *it != "provider") {
        assert!(types.contains(field.as_str()), "{field}: {types}");
        assert!(readme.contains(&format!("`{field}`")), "{field}");
    }
    assert!(rules.contains("A profile has its eight fields"));
    assert_eq!(members(schema).len(), 8);
}

#[test]
fn the_examples_of_a_legacy_login_belong_together() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let transaction: Transaction =
        serde_json::from_value(schemas["Transaction"]["examples"][0].clone()).unwrap();
    assert_eq!(
        transaction.code_challenge,
        transaction.code_verifier.challenge()
    );
    assert_eq!(
        schemas["TokenRequest"]["examples"][0]["code_verifier"],
        transaction.code_verifier.expose()
    );
    let profile: Profile =
        serde_json::from_value(schemas["Profile"]["examples"][0].clone()).unwrap();
    assert_eq!(
        profile.subject,
        contract::Subject::of(profile.provider, &profile.provider_subject)
    );
}

#[test]
fn no_two_rules_share_an_id_a_sentence_or_an_event() {
    let ids: HashSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
    let of_both = |rule: &Rule| [rule.sentence(), rule.happened()];
    let sentences: HashSet<_> = Rule::ALL.iter().flat_map(of_both).collect();
    assert_eq!(
        (ids.len(), sentences.len()),
        (Rule::ALL.len(), 2 * Rule::ALL.len())
    );
}

#[test]
fn an_id_is_two_words_a_sentence_has_no_period_and_the_advice_has_one() {
    let is_word_byte = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_word_byte);
    for rule in Rule::ALL {
        let (area, what) = rule.id().split_once('.').unwrap();
        assert!(is_word(area) && is_word(what), "{rule}");
        assert_eq!(rule.to_string(), rule.id());
        for sentence in [rule.sentence(), rule.happened(), rule.advice()] {
            assert!(
                sentence.starts_with(|c: char| c.is_ascii_uppercase()),
                "{rule}"
            );
            let is_advice = sentence == rule.advice();
            assert_eq!(
                sentence.ends_with(['.', '!', '?', ' ']),
                is_advice,
                "{rule}"
            );
        }
        assert!(rule.advice().ends_with('.'), "{rule}");
        match rule.source() {
            Source::Spec(section) => {
                assert!(!section.is_empty(), "{rule}");
                assert_eq!(rule.source().to_string(), format!("SPEC {section}"));
            }
            Source::KitChoice => assert_eq!(rule.source().to_string(), "KIT-CHOICE"),
        }
    }
}

#[test]
fn a_message_is_traced_back_to_the_one_rule_it_begins_with() {
    for rule in Rule::ALL {
        let bare = Malformed(*rule).to_string();
        assert_eq!(bare, rule.sentence());
        assert_eq!(Rule::begun_by(&bare), Some(*rule));
        let wrapped = format!("{bare} at line 1 column 7");
        assert_eq!(Rule::begun_by(&wrapped), Some(*rule));
        let begins = |other: &&Rule| rule.sentence().starts_with(other.sentence());
        assert_eq!(Rule::ALL.iter().filter(begins).count(), 1, "{rule}");
    }
    assert_eq!(Rule::begun_by(""), None);
    assert_eq!(Rule::begun_by("unknown field `A client_id`"), None);
}

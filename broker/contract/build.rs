//! Bundles `openapi.yaml` and the schemas that it names into one JSON document, so
//! that its reader needs no second file and the broker no YAML parser; and makes the rule
//! catalogue of `rules.yaml`.

#[path = "build/rules.rs"]
mod rules;

use std::error::Error;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=openapi.yaml");
    println!("cargo::rerun-if-changed=schemas");
    let document = bundle(Path::new("openapi.yaml"))?;
    fs::write(
        rules::out_dir()?.join("openapi.json"),
        serde_json::to_string_pretty(&document)?,
    )?;
    rules::generate("rules.yaml", &["sentence", "happened", "advice"])
}

/// The document at `path`, with the files behind `components.schemas` inlined and
/// references to them made internal.
fn bundle(path: &Path) -> Result<Value, Box<dyn Error>> {
    let mut document: Value = serde_saphyr::from_str(&fs::read_to_string(path)?)?;
    let schemas = document
        .pointer_mut("/components/schemas")
        .and_then(Value::as_object_mut)
        .ok_or("openapi.yaml has no components.schemas")?;
    let files = files(schemas)?;
    for (name, file) in &files {
        let mut schema: Value = serde_json::from_str(&fs::read_to_string(file)?)
            .map_err(|error| format!("{file}: {error}"))?;
        make_references_internal(&mut schema, &files)
            .map_err(|error| format!("{file}: {error}"))?;
        // The document names the dialect once, for all of them.
        schema
            .as_object_mut()
            .and_then(|schema| schema.remove("$schema"))
            .ok_or_else(|| format!("{file} has no $schema"))?;
        schemas[name] = schema;
    }
    Ok(document)
}

/// The name of each schema in the document, and its file.
fn files(schemas: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    schemas
        .iter()
        .map(|(name, schema)| match schema["$ref"].as_str() {
            Some(file) => Ok((name.clone(), file.to_owned())),
            None => Err(format!("components.schemas.{name} refers to no file")),
        })
        .collect()
}

/// Replaces `provider.json`, as schemas write it, by `#/components/schemas/Provider`.
fn make_references_internal(schema: &mut Value, files: &[(String, String)]) -> Result<(), String> {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(target)) = members.get_mut("$ref") {
                let file = format!("schemas/{target}");
                let (name, _) = files
                    .iter()
                    .find(|(_, known)| *known == file)
                    .ok_or_else(|| format!("{target} is not in components.schemas"))?;
                *target = format!("#/components/schemas/{name}");
            }
            members
                .values_mut()
                .try_for_each(|member| make_references_internal(member, files))
        }
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| make_references_internal(item, files)),
        _ => Ok(()),
    }
}

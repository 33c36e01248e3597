//! The contract as it is published: `openapi.yaml` and `schemas/*.json`, bundled
//! into one document when this crate is built.

/// OpenAPI 3.1.1 as JSON, with every schema inside and no reference to another
/// document. What `GET /openapi.json` answers.
pub const DOCUMENT: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

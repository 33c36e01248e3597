//! The published contract: `openapi.yaml` and `schemas/*.json`, bundled into one
//! document by the build script.

/// OpenAPI 3.1.1 as JSON, with every schema inside and no reference to another
/// document: the body of `GET /openapi.json`.
pub const DOCUMENT: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

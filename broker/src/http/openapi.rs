//! `GET /openapi.json`.

use rocket::get;
use rocket::response::content::RawJson;

/// The contract as an OpenAPI document.
#[get("/openapi.json")]
pub(super) fn read() -> RawJson<&'static str> {
    RawJson(contract::openapi::DOCUMENT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use contract::Rule;
    use serde_json::Value;

    use crate::http::response::refusal::status;

    /// The statuses that refuse, in all the document's operations.
    fn documented() -> BTreeSet<u16> {
        let document: Value = serde_json::from_str(contract::openapi::DOCUMENT).unwrap();
        let paths = document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|path| path.as_object().unwrap().values());
        operations
            .chain([&document["x-unlisted"]])
            .filter_map(|operation| operation["responses"].as_object())
            .flat_map(|responses| responses.keys())
            .filter_map(|status| status.parse().ok())
            .filter(|status| *status >= 400)
            .collect()
    }

    #[test]
    fn the_document_knows_the_statuses_of_the_table_and_no_others() {
        // A fault of ours is no part of the contract: it is the document's `default`.
        let rules = Rule::ALL.iter().filter(|rule| **rule != Rule::BrokerFault);
        let ours: BTreeSet<u16> = rules.map(|rule| status(*rule).code).collect();
        assert_eq!(documented(), ours);
    }
}

//! The JSON answer to a script, and the address to which the script goes.

use serde_json::Value;
use url::Url;

use super::{Page, Parties};

/// The address of another origin in a JSON answer: the broker's if there is one, else the
/// first.
pub(super) fn address_in(page: &Page, parties: &Parties) -> Option<Url> {
    let mut addresses: Vec<Url> = page
        .json_texts()
        .iter()
        .filter_map(|text| Url::parse(text).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .filter(|url| url.origin() != page.url.origin())
        .collect();
    let broker = addresses
        .iter()
        .position(|url| parties.name_of(url) == "broker");
    (!addresses.is_empty()).then(|| addresses.swap_remove(broker.unwrap_or(0)))
}

impl Page {
    pub(crate) fn is_json(&self) -> bool {
        self.header("content-type").contains("json")
    }

    /// Every text in a JSON answer; none of another page.
    pub(crate) fn json_texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if self.is_json()
            && let Ok(value) = serde_json::from_str(&self.body)
        {
            add_texts(&value, &mut texts);
        }
        texts
    }
}

fn add_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, texts)),
        Value::Object(members) => members.values().for_each(|item| add_texts(item, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::browser::tests::page;

    #[track_caller]
    fn leads_to(media_type: &str, body: &str) -> Option<String> {
        let page = page(200, ("content-type", media_type), body);
        let broker = ("http://127.0.0.1:1".to_owned(), "broker".to_owned());
        address_in(&page, &Parties(vec![broker])).map(String::from)
    }

    #[test]
    fn a_script_goes_to_the_brokers_address_in_its_answer() {
        let body =
            r#"{"logo":"https://cdn.example/a.png","next":{"url":"http://127.0.0.1:1/login/x"}}"#;
        let broker = Some("http://127.0.0.1:1/login/x".to_owned());
        assert_eq!(leads_to("application/json; charset=utf-8", body), broker);
        let other = leads_to("application/json", r#"["http://signin.invalid/x"]"#);
        assert_eq!(other.as_deref(), Some("http://signin.invalid/x"));
    }

    #[test]
    fn a_script_stays_where_its_answer_has_no_address_of_another_origin() {
        for body in [
            r#"{"url":"http://localhost:5000/me"}"#,
            r#"{"url":"javascript:alert(1)"}"#,
            r#"{"error":"busy"}"#,
            "no JSON",
        ] {
            assert_eq!(leads_to("application/json", body), None, "{body}");
        }
        let html = r#"{"url":"http://127.0.0.1:1/login/x"}"#;
        assert_eq!(leads_to("text/html", html), None);
    }
}

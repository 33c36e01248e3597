//! The requests of a Chromium, as its own log of the network records them.

use serde_json::Value;
use url::Url;

/// A request with the status of its answer, once that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exchange {
    id: String,
    pub(crate) method: String,
    pub(crate) url: Url,
    pub(crate) referer: Option<String>,
    pub(crate) body: Option<String>,
    /// Chromium's name of the use: `Document`, `XHR`, `Fetch`, `Image`.
    pub(crate) kind: String,
    pub(crate) status: Option<u16>,
}

impl Exchange {
    /// Whether it is a navigation, or a call of a script.
    pub(crate) fn is_page_or_call(&self) -> bool {
        matches!(self.kind.as_str(), "Document" | "XHR" | "Fetch")
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

/// Adds what one line of the log says.
pub(super) fn add(exchanges: &mut Vec<Exchange>, line: &str) {
    let event: Value = serde_json::from_str(line).unwrap_or_default();
    let event = &event["message"];
    let said = &event["params"];
    let id = said["requestId"].as_str().unwrap_or_default();
    match event["method"].as_str() {
        Some("Network.requestWillBeSent") => {
            answered(exchanges, id, &said["redirectResponse"]);
            exchanges.extend(sent(id, said));
        }
        Some("Network.responseReceived") => answered(exchanges, id, &said["response"]),
        _ => {}
    }
}

fn sent(id: &str, said: &Value) -> Option<Exchange> {
    let request = &said["request"];
    let url = Url::parse(request["url"].as_str()?).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| Exchange {
        id: id.to_owned(),
        method: request["method"].as_str().unwrap_or("GET").to_owned(),
        referer: request["headers"]["Referer"].as_str().map(str::to_owned),
        body: request["postData"].as_str().map(str::to_owned),
        kind: said["type"].as_str().unwrap_or_default().to_owned(),
        status: None,
        url,
    })
}

fn answered(exchanges: &mut [Exchange], id: &str, response: &Value) {
    let status = response["status"].as_u64();
    let status = status.and_then(|it| u16::try_from(it).ok());
    if let Some(exchange) = exchanges.iter_mut().rev().find(|it| it.id == id)
        && exchange.status.is_none()
    {
        exchange.status = status;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_redirect_answers_the_request_before_it() {
        let mut exchanges = Vec::new();
        let mut event = |method: &str, params: Value| {
            let line = json!({ "message": { "method": method, "params": params } });
            add(&mut exchanges, &line.to_string());
        };
        let request = |url: &str| json!({ "url": url, "method": "GET", "headers": {} });
        event(
            "Network.requestWillBeSent",
            json!({ "requestId": "1", "type": "Document", "request": request("http://localhost/a") }),
        );
        event(
            "Network.requestWillBeSent",
            json!({ "requestId": "1", "type": "Document", "request": request("http://localhost/b"), "redirectResponse": { "status": 303 } }),
        );
        event(
            "Network.responseReceived",
            json!({ "requestId": "1", "response": { "status": 200 } }),
        );
        let statuses: Vec<_> = exchanges
            .iter()
            .map(|it| (it.url.path(), it.status))
            .collect();
        assert_eq!(statuses, [("/a", Some(303)), ("/b", Some(200))]);
    }
}

//! The one tab of a Chromium: it opens, presses, waits, and reads what a page shows, and what
//! the browser asked for by its own log of the network.

use std::time::Duration;

use agent::url::path_and_query;
use serde_json::{Value, json};
use thirtyfour::error::WebDriverError;
use thirtyfour::{By, WebDriver, WebElement};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use crate::browser::Parties;
use crate::time::{Stopwatch, pause};
use crate::transcript::Transcript;
use crate::verdict::{Outcome, Stop};

/// The time that a navigation has. What is expected mostly comes within 100 ms.
pub(crate) const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two looks at a page.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The pause before each step in a browser that a person watches.
const SLOW: Duration = Duration::from_millis(900);

/// A Chromium with one tab. It ends when it is dropped.
pub(crate) struct Tab {
    session: Option<(WebDriver, OwnedSemaphorePermit)>,
    is_shown: bool,
    /// The name in the evidence, and where the evidence goes.
    name: String,
    record: Option<(Transcript, Parties)>,
    exchanges: Vec<Exchange>,
    recorded: usize,
}

impl Tab {
    pub(super) fn new(session: WebDriver, turn: OwnedSemaphorePermit, is_shown: bool) -> Self {
        Self {
            session: Some((session, turn)),
            is_shown,
            name: String::new(),
            record: None,
            exchanges: Vec::new(),
            recorded: 0,
        }
    }

    /// The same, with its evidence on `transcript`.
    pub(crate) fn recorded_as(
        mut self,
        name: &str,
        transcript: &Transcript,
        parties: Parties,
    ) -> Self {
        name.clone_into(&mut self.name);
        self.record = Some((transcript.clone(), parties));
        self
    }

    pub(crate) fn session(&self) -> Outcome<&WebDriver> {
        let session = self.session.as_ref().map(|(session, _)| session);
        session.ok_or_else(|| Stop::harness("this Chromium has ended"))
    }

    /// Opens a typed address, and waits until its page has loaded.
    pub(crate) async fn open(&mut self, url: &Url) -> Outcome {
        self.slowly().await;
        self.session()?.goto(url.as_str()).await.map_err(failed)?;
        self.read_log().await
    }

    /// Presses the first element that `css` finds.
    pub(crate) async fn press(&mut self, css: &str) -> Outcome {
        let element = self.session()?.find(By::Css(css)).await;
        let element = element
            .map_err(|_| Stop::not_testable(format!("Chromium's page has no element {css}")))?;
        self.click(&element).await
    }

    pub(crate) async fn click(&mut self, element: &WebElement) -> Outcome {
        self.slowly().await;
        element.click().await.map_err(|_| {
            Stop::not_testable("a control of the page cannot be pressed in Chromium: it is hidden, or something covers it")
        })?;
        self.read_log().await
    }

    /// Goes one entry back in the history.
    pub(crate) async fn back(&mut self) -> Outcome {
        self.slowly().await;
        self.session()?.back().await.map_err(failed)?;
        self.finish_loading().await?;
        self.read_log().await
    }

    /// The address of the page.
    pub(crate) async fn address(&self) -> Outcome<Url> {
        self.session()?.current_url().await.map_err(failed)
    }

    /// Waits until the loaded page's address is such, and returns whether it ever was.
    pub(crate) async fn arrives(&mut self, is_there: impl Fn(&Url) -> bool) -> Outcome<bool> {
        self.arrives_within(ARRIVAL_TIMEOUT, is_there).await
    }

    pub(crate) async fn arrives_within(
        &mut self,
        limit: Duration,
        is_there: impl Fn(&Url) -> bool,
    ) -> Outcome<bool> {
        let watch = Stopwatch::start();
        loop {
            let has_arrived = is_there(&self.address().await?) && self.is_loaded().await?;
            if has_arrived || watch.elapsed() > limit {
                self.read_log().await?;
                return Ok(has_arrived);
            }
            pause(LOOK_EVERY).await;
        }
    }

    async fn is_loaded(&self) -> Outcome<bool> {
        let state = self.run("return document.readyState", Vec::new()).await?;
        Ok(state == "complete")
    }

    /// Waits until the page, whichever it is, has loaded.
    pub(crate) async fn finish_loading(&mut self) -> Outcome {
        self.arrives(|_| true).await.map(drop)
    }

    /// The result of a script on the page.
    pub(crate) async fn run(&self, script: &str, arguments: Vec<Value>) -> Outcome<Value> {
        let answer = self.session()?.execute(script, arguments).await;
        answer.map(|it| it.json().clone()).map_err(failed)
    }

    /// The result that a script passes to its callback, its last argument.
    pub(crate) async fn run_async(&self, script: &str, arguments: Vec<Value>) -> Outcome<Value> {
        let answer = self.session()?.execute_async(script, arguments).await;
        answer.map(|it| it.json().clone()).map_err(failed)
    }

    /// The answer to a command of Chromium's own protocol.
    pub(crate) async fn command(&self, method: &str, parameters: Value) -> Outcome<Value> {
        let answer = self.session()?.cdp().send_raw(method, parameters).await;
        answer.map_err(failed)
    }

    /// Ignores the Content-Security-Policy of the pages from now on.
    pub(crate) async fn ignore_policies(&self) -> Outcome {
        let ignore = self.command("Page.setBypassCSP", json!({ "enabled": true }));
        ignore.await.map(drop)
    }

    /// Everything on the page: the document as it is now.
    pub(crate) async fn source(&self) -> Outcome<String> {
        self.session()?.source().await.map_err(failed)
    }

    /// The words that a person reads.
    pub(crate) async fn text(&self) -> Outcome<String> {
        let script = "return document.body ? document.body.innerText : ''";
        let text = self.run(script, Vec::new()).await?;
        Ok(text.as_str().unwrap_or_default().trim().to_owned())
    }

    /// The addresses in the history of the tab, oldest first.
    pub(crate) async fn history(&self) -> Outcome<Vec<String>> {
        let history = self.command("Page.getNavigationHistory", json!({})).await?;
        let entries = history["entries"].as_array().cloned().unwrap_or_default();
        let urls = entries.iter().filter_map(|it| it["url"].as_str());
        Ok(urls.map(str::to_owned).collect())
    }

    /// Every cookie that the browser holds, as Chromium's protocol writes it.
    pub(crate) async fn cookies(&self) -> Outcome<Vec<Value>> {
        let all = self.command("Storage.getCookies", json!({})).await?;
        Ok(all["cookies"].as_array().cloned().unwrap_or_default())
    }

    /// Everything that the browser asked for.
    pub(crate) fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Reads the log of the network, and adds its pages and calls to the evidence.
    pub(crate) async fn read_log(&mut self) -> Outcome {
        let lines = self
            .session()?
            .get_log("performance")
            .await
            .map_err(failed)?;
        for line in lines {
            add(&mut self.exchanges, &line.message);
        }
        if let Some((transcript, parties)) = &self.record {
            for exchange in &self.exchanges[self.recorded..] {
                if exchange.is_page_or_call() {
                    let party = parties.name_of(&exchange.url);
                    transcript.add(&self.name, &party, describe(exchange));
                }
            }
        }
        self.recorded = self.exchanges.len();
        Ok(())
    }

    async fn slowly(&self) {
        if self.is_shown {
            pause(SLOW).await;
        }
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        if let Some((session, turn)) = self.session.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                // A browser that is gone already needs no end.
                let _ = session.quit().await;
                drop(turn);
            });
        }
    }
}

fn describe(exchange: &Exchange) -> String {
    let path = path_and_query(&exchange.url);
    let status = exchange.status;
    let status = status.map_or("no answer".to_owned(), |it| it.to_string());
    format!(
        "{} {} \u{2192} {status}, in Chromium",
        exchange.method,
        stack::mask::url(&path)
    )
}

/// The first line of the driver's error.
#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
pub(crate) fn failed(error: WebDriverError) -> Stop {
    let error = error.to_string();
    let line = error.lines().find(|it| !it.trim().is_empty());
    Stop::harness(format!("Chromium: {}", line.unwrap_or("no reason given")))
}

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
fn add(exchanges: &mut Vec<Exchange>, line: &str) {
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

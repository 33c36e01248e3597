//! The one tab of a Chromium: it opens, presses, waits, and reads what a page shows, what the
//! browser asked for by its own log of the network, and all that it holds of an app, so that
//! secrets can be searched for in it.

use std::time::Duration;

use agent::url::path_and_query;
use serde_json::{Value, json};
use thirtyfour::error::WebDriverError;
use thirtyfour::{By, WebDriver, WebElement};
use tokio::sync::OwnedMutexGuard;
use url::Url;

use super::driver::message;
use crate::browser::Parties;
use crate::search::Haystack;
use crate::time::{Stopwatch, pause};
use crate::transcript::Transcript;
use crate::verdict::{Outcome, Stop};

/// The time that a navigation has. What is expected mostly comes within 100 ms.
pub(crate) const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The time between two looks at a page.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The pause before each step in a browser that a person watches.
const SLOW: Duration = Duration::from_millis(900);

/// A Chromium with one tab. It ends when it is dropped.
pub(crate) struct Tab {
    pub(crate) session: WebDriver,
    /// Given back once the browser has ended.
    pub(super) turn: Option<OwnedMutexGuard<()>>,
    pub(super) is_shown: bool,
    /// The name in the evidence, and where the evidence goes.
    pub(crate) record: Option<(String, Transcript, Parties)>,
    /// Everything that the browser asked for.
    pub(crate) exchanges: Vec<Exchange>,
}

impl Tab {
    /// Opens a typed address, and waits until its page has loaded.
    pub(crate) async fn open(&mut self, url: &Url) -> Outcome {
        self.slowly().await;
        self.session.goto(url.as_str()).await?;
        self.read_log().await
    }

    /// Presses the first element that `css` finds.
    pub(crate) async fn press(&mut self, css: &str) -> Outcome {
        let element = self.session.find(By::Css(css)).await;
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
        self.session.back().await?;
        self.finish_loading().await
    }

    /// The address of the page.
    pub(crate) async fn address(&self) -> Outcome<Url> {
        Ok(self.session.current_url().await?)
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
            let state = "return document.readyState";
            let has_arrived = is_there(&self.address().await?)
                && self.run(state, Vec::new()).await? == "complete";
            if has_arrived || watch.elapsed() > limit {
                self.read_log().await?;
                return Ok(has_arrived);
            }
            pause(LOOK_EVERY).await;
        }
    }

    /// Waits until the page, whichever it is, has loaded.
    pub(crate) async fn finish_loading(&mut self) -> Outcome {
        self.arrives(|_| true).await.map(drop)
    }

    /// The result of a script on the page.
    pub(crate) async fn run(&self, script: &str, arguments: Vec<Value>) -> Outcome<Value> {
        let answer = self.session.execute(script, arguments).await?;
        Ok(answer.json().clone())
    }

    /// The result that a script passes to its callback, its last argument.
    pub(crate) async fn run_async(&self, script: &str, arguments: Vec<Value>) -> Outcome<Value> {
        let answer = self.session.execute_async(script, arguments).await?;
        Ok(answer.json().clone())
    }

    /// The answer to a command of Chromium's own protocol.
    pub(crate) async fn command(&self, method: &str, parameters: Value) -> Outcome<Value> {
        Ok(self.session.cdp().send_raw(method, parameters).await?)
    }

    /// The words that a person reads.
    pub(crate) async fn text(&self) -> Outcome<String> {
        let script = "return document.body?.innerText";
        let text = self.run(script, Vec::new()).await?;
        Ok(text.as_str().unwrap_or_default().trim().to_owned())
    }

    /// The addresses in the history of the tab, oldest first.
    pub(crate) async fn history(&self) -> Outcome<Vec<Haystack>> {
        let history = self.command("Page.getNavigationHistory", json!({})).await?;
        let entries = history["entries"].as_array().into_iter().flatten();
        let urls = entries.filter_map(|it| Url::parse(it["url"].as_str()?).ok());
        let place = |url: &Url| format!("the history, in the address {}", url.path());
        let all = urls.map(|url| Haystack::new(place(&url), url.as_str()));
        Ok(all.collect())
    }

    /// Reads the log of the network, and adds its pages and calls to the evidence.
    pub(crate) async fn read_log(&mut self) -> Outcome {
        let recorded = self.exchanges.len();
        for line in self.session.get_log("performance").await? {
            add(&mut self.exchanges, &line.message);
        }
        if let Some((name, transcript, parties)) = &self.record {
            let new = self.exchanges[recorded..].iter();
            for exchange in new.filter(|it| it.is_page() || it.is_call()) {
                let party = parties.name_of(&exchange.url);
                transcript.add(name, &party, exchange.describe());
            }
        }
        Ok(())
    }

    /// The page that the browser shows, all that it holds of `app`, and all that it asked.
    pub(crate) async fn holdings(&mut self, app: &Url) -> Outcome<Vec<Haystack>> {
        self.finish_loading().await?;
        let address = self.address().await?;
        let page = format!("the page {} in Chromium", address.path());
        let mut all = vec![Haystack::new(page, self.session.source().await?)];
        let read = include_str!("read_storage.js");
        let stored = self.run_async(read, Vec::new()).await?;
        for entry in stored.as_array().into_iter().flatten() {
            let place = entry[0].as_str().unwrap_or_default();
            let text = entry[1].as_str().ok_or_else(|| {
                Stop::harness(format!("in Chromium {place} of the app cannot be read"))
            })?;
            all.push(Haystack::new(place, text));
        }
        let cookies = self.command("Storage.getCookies", json!({})).await?;
        for cookie in cookies["cookies"].as_array().into_iter().flatten() {
            let text = |member: &str| cookie[member].as_str().unwrap_or_default();
            if Some(text("domain").trim_start_matches('.')) == app.host_str() {
                let place = format!("the cookie {}", text("name"));
                all.push(Haystack::new(place, text("value")));
            }
        }
        all.extend(self.history().await?);
        self.add_asked(app, &mut all).await;
        Ok(all)
    }

    /// Adds the addresses that the browser asked for, what it sent, and the answers to scripts
    /// that Chromium still has.
    async fn add_asked(&self, app: &Url, all: &mut Vec<Haystack>) {
        for exchange in &self.exchanges {
            let path = exchange.url.path();
            let mut add = |place: String, text: &str| all.push(Haystack::new(place, text));
            add(format!("the address {path}"), exchange.url.as_str());
            if let Some(body) = &exchange.body
                && exchange.url.origin() == app.origin()
            {
                add(format!("what the page sends to {path}"), body);
            }
            if exchange.is_call() {
                let wanted = json!({ "requestId": exchange.id });
                // Chromium forgets the answers of pages that are gone.
                let answer = self.command("Network.getResponseBody", wanted).await;
                if let Some(body) = answer.unwrap_or_default()["body"].as_str() {
                    add(format!("the answer of {path} to a script"), body);
                }
            }
        }
    }

    async fn slowly(&self) {
        if self.is_shown {
            pause(SLOW).await;
        }
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let (session, turn) = (self.session.clone(), self.turn.take());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // A browser that is gone already needs no end.
                let _ = session.quit().await;
                drop(turn);
            });
        }
    }
}

/// A driver that does not obey is no fault of the app.
impl From<WebDriverError> for Stop {
    fn from(error: WebDriverError) -> Self {
        Self::harness(format!("Chromium: {}", message(&error)))
    }
}

/// A request with the status of its answer, once that has come.
pub(crate) struct Exchange {
    id: String,
    method: String,
    pub(crate) url: Url,
    pub(crate) referer: Option<String>,
    body: Option<String>,
    /// Chromium's name of the use: `Document`, `XHR`, `Fetch`, `Image`.
    kind: String,
    pub(crate) status: Option<u16>,
}

impl Exchange {
    /// The request that an event tells of; none if it tells of another.
    fn sent(id: &str, said: &Value) -> Option<Self> {
        let request = &said["request"];
        let url = Url::parse(request["url"].as_str()?).ok()?;
        matches!(url.scheme(), "http" | "https").then(|| Self {
            id: id.to_owned(),
            method: request["method"].as_str().unwrap_or("GET").to_owned(),
            referer: request["headers"]["Referer"].as_str().map(str::to_owned),
            body: request["postData"].as_str().map(str::to_owned),
            kind: said["type"].as_str().unwrap_or_default().to_owned(),
            status: None,
            url,
        })
    }

    /// Whether it is a navigation.
    pub(crate) fn is_page(&self) -> bool {
        self.kind == "Document"
    }

    /// Whether a script made it.
    fn is_call(&self) -> bool {
        matches!(self.kind.as_str(), "XHR" | "Fetch")
    }

    fn describe(&self) -> String {
        let path = stack::mask::url(&path_and_query(&self.url));
        let status = self
            .status
            .map_or("no answer".to_owned(), |it| it.to_string());
        format!("{} {path} \u{2192} {status}, in Chromium", self.method)
    }
}

/// Adds what one line of the log says.
fn add(exchanges: &mut Vec<Exchange>, line: &str) {
    let event: Value = serde_json::from_str(line).unwrap_or_default();
    let event = &event["message"];
    let said = &event["params"];
    let answer = match event["method"].as_str() {
        // A redirect has the id of the request that it answers.
        Some("Network.requestWillBeSent") => &said["redirectResponse"],
        Some("Network.responseReceived") => &said["response"],
        _ => return,
    };
    let id = said["requestId"].as_str().unwrap_or_default();
    let status = answer["status"].as_u64();
    let status = status.and_then(|it| u16::try_from(it).ok());
    if let Some(exchange) = exchanges.iter_mut().rev().find(|it| it.id == id) {
        exchange.status = exchange.status.or(status);
    }
    exchanges.extend(Exchange::sent(id, said));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_answers_the_request_before_it() {
        let mut exchanges = Vec::new();
        let [a, b] = ["a", "b"].map(|it| json!({ "url": format!("http://localhost/{it}") }));
        let [redirect, page] = [303, 200].map(|it| json!({ "status": it }));
        let sent = "Network.requestWillBeSent";
        for (method, said) in [
            (sent, json!({ "request": a })),
            (sent, json!({ "request": b, "redirectResponse": redirect })),
            ("Network.responseReceived", json!({ "response": page })),
        ] {
            let line = json!({ "message": { "method": method, "params": said } });
            add(&mut exchanges, &line.to_string());
        }
        let statuses = exchanges.iter().map(|it| (it.url.path(), it.status));
        let statuses: Vec<_> = statuses.collect();
        assert_eq!(statuses, [("/a", Some(303)), ("/b", Some(200))]);
    }
}

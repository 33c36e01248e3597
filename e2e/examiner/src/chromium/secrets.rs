//! Everything that a Chromium holds of an app, so that secrets can be searched for in it.

use serde_json::{Value, json};
use url::Url;

use super::tab::Tab;
use crate::search::Haystack;
use crate::verdict::{Outcome, Stop};

/// Names and values of everything that the page's origin has stored: pairs of a place and a
/// text. A place that cannot be read comes with `null`. What the page has put over the
/// methods of its storage does not count.
const READ_STORAGE: &str = r#"
const done = arguments[0];
const all = [];
const add = (place, text) => all.push([place, typeof text === 'string' ? text : JSON.stringify(text) || '']);
const wait = request => new Promise((ok, no) => { request.onsuccess = () => ok(request.result); request.onerror = no; });
const items = name => () => {
  const [storage, own] = [window[name], Storage.prototype];
  const length = Object.getOwnPropertyDescriptor(own, 'length').get.call(storage);
  for (let index = 0; index < length; index++) {
    const key = own.key.call(storage, index);
    add(`${name} under ${key}`, `${key}=${own.getItem.call(storage, key)}`);
  }
};
const databases = async () => {
  for (const { name } of await indexedDB.databases()) {
    const database = await wait(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const objects = () => database.transaction(store).objectStore(store);
      add(`IndexedDB ${name}, ${store}`, [await wait(objects().getAllKeys()), await wait(objects().getAll())]);
    }
    database.close();
  }
};
const cached = async () => {
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      add(`the cache ${name}`, request.url);
      add(`the cache ${name}`, await (await cache.match(request)).text());
    }
  }
};
const places = {
  localStorage: items('localStorage'), sessionStorage: items('sessionStorage'), IndexedDB: databases,
  'the caches': window.caches ? cached : () => {},
  'window.name': () => add('window.name', window.name), 'history.state': () => add('history.state', history.state),
};
(async () => {
  for (const [place, read] of Object.entries(places))
    // A page in a sandbox has no storage.
    try { await read(); } catch (error) { if (error?.name !== 'SecurityError') all.push([place, null]); }
  done(all);
})();"#;

impl Tab {
    /// The page that the browser shows, all that it holds of `app`, and all that it asked.
    pub(crate) async fn holdings(&mut self, app: &Url) -> Outcome<Vec<Haystack>> {
        self.finish_loading().await?;
        let address = self.address().await?;
        let page = format!("the page {} in Chromium", address.path());
        let mut all = vec![Haystack::new(page, self.source().await?)];
        let stored = self.run_async(READ_STORAGE, Vec::new()).await?;
        for entry in stored.as_array().into_iter().flatten() {
            let place = entry[0].as_str().unwrap_or_default();
            let text = entry[1].as_str().ok_or_else(|| {
                Stop::harness(format!("in Chromium {place} of the app cannot be read"))
            })?;
            all.push(Haystack::new(place, text));
        }
        for cookie in self.cookies().await? {
            let text = |member: &str| cookie[member].as_str().unwrap_or_default();
            if Some(text("domain").trim_start_matches('.')) == app.host_str() {
                let place = format!("the cookie {}", text("name"));
                all.push(Haystack::new(place, text("value")));
            }
        }
        let history = self.history().await?.into_iter();
        all.extend(history.map(|url| Haystack::new("the history", url)));
        all.extend(self.asked(app).await);
        Ok(all)
    }

    /// The addresses that the browser asked for, what it sent, and the answers to scripts
    /// that Chromium still has.
    async fn asked(&self, app: &Url) -> Vec<Haystack> {
        let mut all = Vec::new();
        for exchange in self.exchanges() {
            let path = exchange.url.path();
            let address = format!("the address {path}");
            all.push(Haystack::new(address, exchange.url.as_str()));
            let is_to_app = exchange.url.origin() == app.origin();
            if let Some(body) = exchange.body.as_deref().filter(|_| is_to_app) {
                all.push(Haystack::new(
                    format!("what the page sends to {path}"),
                    body,
                ));
            }
            if matches!(exchange.kind.as_str(), "XHR" | "Fetch") {
                let wanted = json!({ "requestId": exchange.id() });
                // Chromium forgets the answers of pages that are gone.
                let answer = self.command("Network.getResponseBody", wanted).await;
                let answer = answer.unwrap_or(Value::Null);
                if let Some(body) = answer["body"].as_str() {
                    all.push(Haystack::new(
                        format!("the answer of {path} to a script"),
                        body,
                    ));
                }
            }
        }
        all
    }
}

//! Everything that a Chromium holds of an app, so that secrets can be searched for in it.

use serde_json::{Value, json};

use super::tab::Tab;
use crate::search::Haystack;
use crate::verdict::Outcome;
use crate::world::World;

/// Names and values of everything that the page's origin has stored, as JSON.
const READ_STORAGE: &str = r#"
const done = arguments[0];
const all = [];
const add = (place, text) => all.push([place, typeof text === 'string' ? text : JSON.stringify(text) || '']);
const read = async () => {
  for (const [name, storage] of [['localStorage', localStorage], ['sessionStorage', sessionStorage]])
    for (let index = 0; index < storage.length; index++) {
      const key = storage.key(index);
      add(`${name} under ${key}`, `${key}=${storage.getItem(key)}`);
    }
  add('window.name', window.name);
  add('history.state', history.state);
  for (const { name } of await indexedDB.databases()) {
    const database = await wait(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const objects = database.transaction(store).objectStore(store);
      add(`IndexedDB ${name}, ${store}`, [await wait(objects.getAllKeys()), await wait(database.transaction(store).objectStore(store).getAll())]);
    }
    database.close();
  }
  if (window.caches) for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      add(`the cache ${name}`, request.url);
      add(`the cache ${name}`, await (await cache.match(request)).text());
    }
  }
};
const wait = request => new Promise((ok, no) => { request.onsuccess = () => ok(request.result); request.onerror = no; });
read().catch(() => {}).then(() => done(all));"#;

impl Tab {
    /// What the browser holds of the page it shows, its cookies, and all its addresses.
    pub(crate) async fn holdings(&mut self, world: &World) -> Outcome<Vec<Haystack>> {
        self.settled().await?;
        let mut all = vec![Haystack {
            place: format!("the page {} in Chromium", self.address().await?.path()),
            text: self.source().await?,
        }];
        let stored = self.run_async(READ_STORAGE, Vec::new()).await?;
        for entry in stored.as_array().into_iter().flatten() {
            let text = |index: usize| entry[index].as_str().unwrap_or_default().to_owned();
            all.push(Haystack {
                place: text(0),
                text: text(1),
            });
        }
        for cookie in self.cookies().await? {
            let text = |member: &str| cookie[member].as_str().unwrap_or_default().to_owned();
            if Some(text("domain").trim_start_matches('.')) == world.start.host_str() {
                all.push(Haystack {
                    place: format!("the cookie {}", text("name")),
                    text: text("value"),
                });
            }
        }
        for url in self.history().await? {
            all.push(Haystack {
                place: "the history".to_owned(),
                text: url,
            });
        }
        all.extend(self.asked(world).await);
        Ok(all)
    }

    /// The addresses that the browser asked for, what it sent, and the answers to scripts
    /// that Chromium still has.
    async fn asked(&self, world: &World) -> Vec<Haystack> {
        let mut all = Vec::new();
        for exchange in self.exchanges() {
            let path = exchange.url.path();
            let mut add = |place: String, text: &str| {
                all.push(Haystack {
                    place,
                    text: text.to_owned(),
                });
            };
            add(format!("the address {path}"), exchange.url.as_str());
            if let Some(body) = exchange
                .body
                .as_deref()
                .filter(|_| world.is_app(&exchange.url))
            {
                add(format!("what the page sends to {path}"), body);
            }
            if matches!(exchange.kind.as_str(), "XHR" | "Fetch") {
                let wanted = json!({ "requestId": exchange.id() });
                // Chromium forgets the answers of pages that are gone.
                let answer = self.command("Network.getResponseBody", wanted).await;
                let answer = answer.unwrap_or(Value::Null);
                if let Some(body) = answer["body"].as_str() {
                    add(format!("the answer of {path} to a script"), body);
                }
            }
        }
        all
    }
}

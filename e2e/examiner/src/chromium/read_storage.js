// Names and values of everything that the page's origin has stored: pairs of a place and a text.
// A place that cannot be read comes with `null`. What the page has put over the methods of its
// storage does not count.
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
})();

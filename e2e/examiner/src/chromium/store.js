// Stores a secret in every place that a script can reach.
const done = arguments[0];
localStorage.setItem('key', 'needle'); sessionStorage.setItem('length', 'needle'); window.name = 'needle';
history.replaceState({ it: 'needle' }, '');
const opening = indexedDB.open('shop');
opening.onupgradeneeded = () => opening.result.createObjectStore('basket').add({ it: 'needle' }, 1);
opening.onsuccess = () => { opening.result.close();
  caches.open('pages').then(it => it.put('/a', new Response('needle'))).then(() => done()); };

return new Promise((done) => {
  const begun = performance.now();
  const look = () => document.querySelector('h1').textContent === 'No login yet'
    && done(performance.now() - begun);
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  fetch('/api/reset', { method: 'POST' });
});

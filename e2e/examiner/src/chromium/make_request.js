// Makes the request of a step, and goes where its answer leads: to the broker's address in it, or
// by its redirect.
const [{ Request: { method, path, body } }, broker, done] = arguments;
const kind = body.startsWith('{') ? 'application/json' : 'application/x-www-form-urlencoded';
const request = method === 'GET' ? {} : { body, headers: { 'Content-Type': kind } };
fetch(path, { method, redirect: 'manual', ...request }).then(async answer => {
  if (answer.type === 'opaqueredirect') {
    const form = document.body.appendChild(document.createElement('form'));
    form.method = method; form.action = path;
    for (const [name, value] of new URLSearchParams(body)) {
      const field = form.appendChild(document.createElement('input'));
      field.type = 'hidden'; field.name = name; field.value = value;
    }
    done(true); form.submit();
  } else {
    const text = JSON.stringify(await answer.json());
    const found = text.match(new RegExp('"(' + broker.replaceAll('.', '\\.') + '/[^"]*)"'));
    done(Boolean(found));
    if (found) location.assign(JSON.parse(found[0]));
  }
}).catch(() => done(false));

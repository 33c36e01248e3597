// Finds the control of a step, by its CSS selector or its target; null if the page has none.
const [{ Css: css, Target: wanted }] = arguments;
const BUTTONS = 'button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]';
if (css) {
  const found = document.querySelector(css);
  return found?.tagName === 'FORM' ? found.querySelector(BUTTONS) || found : found;
}
const { method, path, fields, field } = wanted;
// What differs from page to page.
const isToken = value => value.length >= 8 && /^(?!\/)[\w\-.=+\/~:]*$/.test(value)
  && (/[0-9]/.test(value) || value.length >= 22 && /[a-z]/.test(value) && /[A-Z]/.test(value));
const target = url => {
  const it = new URL(url, document.baseURI);
  const pairs = [...it.searchParams].map(([name, value]) => name + '=' + (isToken(value) ? '' : value));
  return it.pathname + '?' + pairs.join('&');
};
const leadsThere = url => target(url) === target(path);
const hasFields = form => fields.every(([name, value]) => isToken(value)
  || [...form.querySelectorAll('input, select, textarea')].some(it => it.name === name && it.value === value));
const adds = button => !field || button.name === field[0] && (button.value === field[1] || isToken(field[1]));
if (method === 'GET') for (const link of document.querySelectorAll('a[href]'))
  if (leadsThere(link.href)) return link;
const forms = [...document.forms];
// Of several, the one with the same fields is taken.
for (const form of [...forms.filter(hasFields), ...forms]) {
  if (form.method.toUpperCase() !== method) continue;
  const action = form.getAttribute('action') || location.href;
  const buttons = [...form.querySelectorAll(BUTTONS)];
  const found = buttons.find(it => leadsThere(it.getAttribute('formaction') || action) && adds(it));
  if (found) return found;
  if (!buttons.length && leadsThere(action)) {
    const button = form.appendChild(document.createElement('button'));
    button.textContent = 'Send';
    return button;
  }
}
return null;

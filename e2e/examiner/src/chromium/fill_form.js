// Fills in the provider's form for another account, which is in a closed part of the page.
const [fields] = arguments;
const button = document.querySelector('#other');
button.closest('details')?.setAttribute('open', '');
for (const [name, value] of fields) {
  const field = button.form.elements[name];
  if (field?.tagName !== 'INPUT') continue;
  if (field.type === 'checkbox') field.checked = true; else field.value = value;
}

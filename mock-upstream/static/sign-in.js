// Searches the list of failures. Without this script the list is simply there.
const search = document.querySelector('#failure-search');
const found = document.querySelector('#failures-found');
const endings = [...document.querySelectorAll('.ending')];

const textOf = (element) => element.textContent.toLowerCase();

function show(words) {
  let count = 0;
  for (const ending of endings) {
    for (const group of ending.querySelectorAll('.group')) {
      const about = textOf(ending.querySelector('h3')) + textOf(group.querySelector('h4'));
      for (const item of group.querySelectorAll('li')) {
        const text = about + textOf(item);
        item.hidden = !words.every((word) => text.includes(word));
        count += item.hidden ? 0 : 1;
      }
      group.hidden = !group.querySelector('li:not([hidden])');
    }
    ending.hidden = !ending.querySelector('.group:not([hidden])');
  }
  return count;
}

search.closest('[hidden]').hidden = false;
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const count = show(words);
  const noun = count === 1 ? 'failure' : 'failures';
  found.textContent = words.length === 0 ? '' : `${count || 'No'} ${noun} found`;
});

const diagram = document.querySelector('#sequence .diagram');
const lines = diagram.querySelector('.lifelines');
const first = [...diagram.querySelectorAll('.step')].at(-6).getBBox().y;
for (const it of [...diagram.children])
  if (it !== lines && it.getBBox().y < first) it.remove();
const { width, height } = diagram.viewBox.baseVal;
const top = first - 84;
for (const it of lines.querySelectorAll('line')) it.setAttribute('y1', top + 68);
for (const it of lines.querySelectorAll('rect, text'))
  it.setAttribute('transform', `translate(0 ${top})`);
diagram.setAttribute('viewBox', `0 ${top} ${width} ${height - top}`);
document.body.replaceChildren(diagram);
document.body.style.background = 'var(--sheet)';
return Math.ceil(820 * (height - top) / width);

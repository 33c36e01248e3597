const box = (it) => it.getBoundingClientRect();
const heads = [...document.querySelectorAll('.heads .name')];
const arrow = [...stage.querySelectorAll('.step line')].pop();
const downwards = [box(stage).top, ...heads.map((it) => box(it).top),
  box(heads[3]).bottom, box(arrow).top, box(arrow).bottom, box(stage).bottom,
  box(sentence).top, box(sentence).bottom, box(steps).bottom, innerHeight];
const isWhole = sentence.scrollHeight <= sentence.clientHeight + 1;
const isInOrder = downwards.every((y, index) => !(y < downwards[index - 1]));
return heads.length === 4 && isWhole && isInOrder;

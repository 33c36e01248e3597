const seen = (it) => {
  const at = it.getBoundingClientRect();
  return at.top >= 0 && at.bottom <= innerHeight;
};
const all = [...document.querySelectorAll('.diagram .step')];
const texts = [...document.querySelectorAll('.diagram text')];
const scale = document.querySelector('.diagram').getBoundingClientRect().width / 960;
const sizes = texts.map((it) => parseFloat(getComputedStyle(it).fontSize) * scale);
return [all.filter(seen).length, Math.min(...sizes)];

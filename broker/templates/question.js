// Continue counts only after everything that one should read was in view, and the
// page then visible and in front for a second. A popup of three lines shows nothing
// but the button; a click that was meant for another window, which closed under it,
// would hit it. A user who clicks fast has not read anything: a press that comes too early
// starts the second anew, and one that began too early does not count when it ends.
//
// The page comes with the button disabled: if this script does not load, it stays so.
"use strict";

const form = document.querySelector("form.waits");
const button = form.querySelector("button.scripted");
const unread = new Set(document.querySelectorAll("h1, .who, .meaning, .advice li"));
let beganEarly = false;
let timer;

function isHeld() {
  return button.hasAttribute("aria-disabled");
}

function hold() {
  clearTimeout(timer);
  button.setAttribute("aria-disabled", "true");
}

function watch() {
  hold();
  const isInFront = document.visibilityState === "visible" && document.hasFocus();
  if (unread.size === 0 && isInFront) {
    timer = setTimeout(() => button.removeAttribute("aria-disabled"), 1000);
  }
}

const reader = new IntersectionObserver(
  (entries) => {
    // The ratio is a quotient of rounded numbers: 0.99 is all of it.
    for (const entry of entries.filter((it) => it.intersectionRatio >= 0.99)) {
      reader.unobserve(entry.target);
      unread.delete(entry.target);
    }
    if (unread.size === 0) {
      reader.disconnect();
      watch();
    }
  },
  { threshold: [0.99, 1] },
);

form.addEventListener("submit", (event) => {
  if (isHeld() || beganEarly) {
    event.preventDefault();
    beganEarly = false;
    watch();
  } else {
    // The second click of two would arrive as another browser's.
    hold();
  }
});

for (const start of ["pointerdown", "keydown"]) {
  document.addEventListener(start, () => {
    beganEarly = isHeld();
    if (beganEarly) {
      watch();
    }
  });
}
document.addEventListener("visibilitychange", watch);
for (const change of ["focus", "blur", "pageshow"]) {
  window.addEventListener(change, watch);
}
for (const part of unread) {
  reader.observe(part);
}
watch();
button.disabled = false;

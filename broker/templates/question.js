// Continue counts only after the page has been visible and in front for a second:
// a click that was meant for another window, which closed under it, does nothing.
// Without this script the stylesheet holds the button back, from the page's first
// picture on.
"use strict";

const form = document.querySelector("form.waits");
const button = form.querySelector("button");
let timer;

function hold() {
  clearTimeout(timer);
  button.setAttribute("aria-disabled", "true");
}

function watch() {
  hold();
  if (document.visibilityState === "visible" && document.hasFocus()) {
    timer = setTimeout(() => button.removeAttribute("aria-disabled"), 1000);
  }
}

form.addEventListener("submit", (event) => {
  if (button.hasAttribute("aria-disabled")) {
    event.preventDefault();
  } else {
    // The second click of two would arrive as another browser's.
    hold();
  }
});

document.addEventListener("visibilitychange", watch);
for (const change of ["focus", "blur", "pageshow"]) {
  window.addEventListener(change, watch);
}
watch();

"use strict";

// The links work by themselves. This script follows them by the keyboard, without loading
// the whole page, and shows new arrows as they come.

const KEYS = {
  ArrowRight: "after", PageDown: "after", " ": "after",
  ArrowLeft: "before", PageUp: "before",
  Escape: "leave",
};

let requests = 0;

async function show(url) {
  const number = ++requests;
  let answer;
  try {
    answer = await fetch(url);
  } catch {
    // The stack has stopped; the page stays as it is.
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("present");
  if (!fresh || number !== requests) return;
  const focused = document.activeElement?.id;
  document.title = page.title;
  document.getElementById("present").replaceWith(fresh);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  document.querySelector(".sentence")?.scrollIntoView({ block: "end" });
}

function go(link) {
  history.pushState(null, "", link.href);
  show(link.href);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("#before, #after");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain) return;
  event.preventDefault();
  go(link);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const id = KEYS[event.key];
  if (!id) return;
  event.preventDefault();
  document.getElementById(id)?.click();
});

addEventListener("popstate", () => show(location.href));

// Events, as they happen.

let timer;

/** Loads the arrow once for several events. */
function showSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => show(location.href), 120);
}

followEvents(Number(document.getElementById("present").dataset.seq), showSoon, showSoon);

"use strict";

// The links work by themselves. This script follows them by the keyboard, without loading
// the whole page, and shows new arrows as they come.

const KEYS = {
  ArrowRight: "after", PageDown: "after", " ": "after",
  ArrowLeft: "before", PageUp: "before",
  Escape: "leave",
};

let requests = 0;
let lastSeq = Number(document.getElementById("present").dataset.seq);

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

// Events, as they happen. A page that is not seen must not keep a connection.

let stream = null;
let timer;

function listen() {
  if (stream) return;
  stream = new EventSource(`/api/events/stream?after=${lastSeq}`);
  stream.addEventListener("message", (message) => {
    const { seq } = JSON.parse(message.data);
    if (seq <= lastSeq) return;
    lastSeq = seq;
    clearTimeout(timer);
    timer = setTimeout(() => show(location.href), 120);
  });
}

function stopListening() {
  stream?.close();
  stream = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
addEventListener("pagehide", stopListening);
addEventListener("pageshow", () => document.hidden || listen());

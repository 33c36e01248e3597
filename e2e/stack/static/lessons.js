"use strict";

// The server renders a lesson. This script loads it again when an event arrives, and shows
// the steps that are done now.

const main = document.getElementById("main");
const news = document.getElementById("news");

let rendered = document.getElementById("lesson").outerHTML;
let requests = 0;

/** Shows the lesson as it is now, or after a form's `request`. */
async function show(url, request) {
  const number = ++requests;
  let answer;
  try {
    answer = await fetch(url, request);
  } catch {
    news.textContent = "The stack does not answer. Is it running?";
    return;
  }
  const isPage = answer.headers.get("Content-Type")?.startsWith("text/html");
  if (!isPage) {
    news.textContent = `This was refused: ${(await answer.json()).message}`;
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  // A later request replaces this one.
  if (number !== requests) return;
  if (answer.url !== location.href) history.pushState(null, "", answer.url);
  replace(page.getElementById("lesson"));
}

function replace(fresh) {
  if (!fresh || fresh.outerHTML === rendered) return;
  rendered = fresh.outerHTML;
  const old = document.getElementById("lesson");
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const isNew = (step) => step.matches(".done") && !old.querySelector(`#${step.id}.done`);
  const done = [...fresh.querySelectorAll(".step")].filter(isNew);
  const isComplete = done.length > 0 && !fresh.querySelector(".step:not(.done)");
  for (const details of fresh.querySelectorAll("details")) {
    details.open = Boolean(old.querySelector("#closing details[open]"));
  }
  old.replaceWith(fresh);
  if (focused) (document.getElementById(focused) ?? main).focus({ preventScroll: true });
  if (isComplete) {
    news.textContent = "All steps are done.";
  } else if (done.length > 0) {
    news.textContent = `Done: step ${done.map((step) => step.id.slice("step-".length)).join(", ")}.`;
  }
}

// Without this script a form loads the page again; with it, the page stays.

let isSending = false;

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  isSending = true;
  await show(form.action, { method: "POST", body: fields });
  isSending = false;
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("#check");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain) return;
  event.preventDefault();
  show(link.href);
});

addEventListener("popstate", () => show(location.href));

// Events, as they happen.

let timer;

/** Loads the lesson once for several events, and not before a form's answer is shown. */
function showSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => (isSending ? showSoon() : show(location.href)), 120);
}

followEvents(Number(main.dataset.seq), showSoon, showSoon);

// The countdown of the attacker's links, by this machine's clock: the page is loaded again
// when the stack's clock is moved.

let shown = { list: null, at: 0 };

setInterval(() => {
  const list = document.querySelector(".attacks");
  if (!list) return;
  if (shown.list !== list) shown = { list, at: performance.now() };
  for (const left of list.querySelectorAll("[data-expires]")) {
    left.dataset.left ??= left.textContent.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
    const seconds = Math.max(0, Math.floor(left.dataset.left - (performance.now() - shown.at) / 1000));
    left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}, 1000);

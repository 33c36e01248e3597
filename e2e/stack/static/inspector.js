"use strict";

// The server renders the pages. This script loads the page again when an event arrives
// and replaces the parts that have changed, so that the reader need not reload it.

const LIVE = ["sandboxes", "clock", "queued", "armed", "logins", "sequence", "exchange"];
const main = document.getElementById("main");
const news = document.getElementById("news");

/** The last version of each live part from the server; the script marks the page's own copy. */
const rendered = new Map(LIVE.map((id) => [id, document.getElementById(id)?.outerHTML]));

let requests = 0;

function announce(text) {
  news.textContent = text;
}

/** Loads the page at `url`, or the page after a form's `request`; null after an error. */
async function load(url, request) {
  try {
    const response = await fetch(url, request);
    if (response.headers.get("Content-Type")?.startsWith("text/html")) {
      return { url: response.url, body: await response.text() };
    }
    announce(`This was refused: ${(await response.json()).message}`);
  } catch {
    announce("The stack does not answer. Is it running?");
  }
  return null;
}

/** Shows the page at `url`, which may be the current one. */
async function show(url, request) {
  const number = ++requests;
  const loaded = await load(url, request);
  // A later request replaces this one.
  if (!loaded || number !== requests) return false;
  if (loaded.url !== location.href) history.pushState(null, "", loaded.url);
  const page = new DOMParser().parseFromString(loaded.body, "text/html");
  document.title = page.title;
  LIVE.forEach((id) => replace(id, page.getElementById(id)));
  return true;
}

function replace(id, fresh) {
  const old = document.getElementById(id);
  if (fresh?.outerHTML === rendered.get(id)) return;
  rendered.set(id, fresh?.outerHTML);
  unhide(fresh);
  if (!fresh) {
    old?.remove();
  } else if (!old) {
    main.append(fresh);
  } else {
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    const isSame = id === "sequence" && isSameLogin(old, fresh);
    if (isSame) markNew(old, fresh);
    old.replaceWith(fresh);
    if (id === "sequence") scrollToEnd(isSame);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

function isSameLogin(old, fresh) {
  const [before, after] = [old, fresh].map((part) => part.querySelector("#login-id")?.textContent);
  return before === after;
}

/** Marks the arrows that the old sequence does not have. */
function markNew(old, fresh) {
  for (const step of fresh.querySelectorAll(".step[id]")) {
    if (!old.querySelector(`#${CSS.escape(step.id)}`)) step.classList.add("new");
  }
}

/** Scrolls to the latest row, on the page of the newest login and with no exchange open. */
function scrollToEnd(isSame) {
  const isBusy = document.activeElement?.matches("select") || document.getElementById("exchange");
  if (location.pathname !== "/" || isBusy) return;
  if (isSame && !document.querySelector(".step.new")) return;
  document.querySelector(".diagram > :last-child")?.scrollIntoView({ block: "nearest" });
}

/** Scrolls to the chosen arrow, above the exchange that it opened. */
function scrollToChosen() {
  const chosen = [...document.querySelectorAll("#sequence [aria-current]")];
  chosen.find((it) => it.getClientRects().length > 0)?.scrollIntoView({ block: "nearest" });
}

// Links within the page: logins, arrows, Close.

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-choose]");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain) return;
  event.preventDefault();
  const isClosing = link.id === "close";
  const arrow = document.querySelector(".step[aria-current]")?.id;
  if (!(await show(link.getAttribute("href")))) return;
  if (isClosing) {
    document.getElementById(arrow)?.focus();
  } else {
    document.getElementById("exchange-title")?.focus({ preventScroll: true });
    scrollToChosen();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.getElementById("close")?.click();
});

addEventListener("popstate", () => show(location.href));

// What only a script can do is hidden until one runs.

function unhide(part) {
  for (const button of part?.querySelectorAll("[data-copy]") ?? []) button.hidden = false;
}

unhide(document);

document.addEventListener("click", async (event) => {
  const source = event.target.closest("[data-copy]")?.dataset.copy;
  if (!source) return;
  try {
    await navigator.clipboard.writeText(document.getElementById(source).textContent);
    announce("Copied.");
  } catch {
    announce("The browser does not allow copying here.");
  }
});

// Without this script a form reloads the page; with it, the page stays.

let isSending = false;

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const fields = new FormData(form, event.submitter);
  const request = { method: "POST", body: new URLSearchParams(fields) };
  isSending = true;
  const isShown = await show(form.action, request);
  isSending = false;
  if (!isShown) return;
  announce(form.dataset.message);
  form.closest(".really")?.removeAttribute("open");
});

// Events, as they happen.

let timer;

/** Loads the page once for several events, and not before a form's answer is shown. */
function showSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => (isSending ? showSoon() : show(location.href)), 120);
}

function onEvent(event) {
  announce(describe(event));
  showSoon();
}

followEvents(Number(main.dataset.seq), onEvent, showSoon);

function describe(event) {
  const end = event.fault ? `fault ${event.fault}` : event.resend ? "sent again" : event.status ?? "no answer";
  const rule = event.rule ? `, ${event.rule}: ${event.happened}` : "";
  return `${event.from} to ${event.to}, ${event.operation}: ${end}${rule}.`;
}

// The clock flows, and another client may advance or reset it.

let clock = { now: 0, since: 0, shown: null };

/** The time of the stack, as far as the page knows it. */
const nowMs = () => clock.now + performance.now() - clock.since;

setInterval(() => {
  const time = document.getElementById("time");
  if (clock.shown !== time) clock = { now: Number(time.dataset.now), since: performance.now(), shown: time };
  time.textContent = new Date(nowMs()).toISOString().slice(11, 19);
  for (const left of document.querySelectorAll("[data-expires]")) {
    const seconds = Math.max(0, Math.floor((Number(left.dataset.expires) - nowMs()) / 1000));
    left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}, 250);

setInterval(() => {
  if (document.visibilityState === "visible") showSoon();
}, 5000);

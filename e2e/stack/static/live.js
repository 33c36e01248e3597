"use strict";

// The server renders the pages. This script loads a page again when an event arrives and
// replaces the parts that have changed, so that the reader need not reload it. A page works
// without it.

/** The ids of the parts that change. Each page has some of them, and not all at all times. */
const LIVE = ["sandboxes", "clock", "queued", "armed", "logins", "sequence", "exchange", "lesson"];
const news = document.getElementById("news");
const isInspector = Boolean(document.querySelector("main.inspector"));

/** The last version of each part from the server; the script marks the page's own copy. */
const rendered = new Map(LIVE.map((id) => [id, document.getElementById(id)?.outerHTML]));

let requests = 0;

function announce(text) {
  if (news) news.textContent = text;
}

/** Loads the page at `url`, or the page after a form's `request`; null after an error. */
async function load(url, request) {
  try {
    const response = await fetch(url, request);
    if (response.headers.get("Content-Type")?.startsWith("text/html")) {
      return { url: request ? response.url : new URL(url, location).href, body: await response.text() };
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
    document.getElementById("main").append(fresh);
  } else {
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    const afterwards = COMPARE[id]?.(old, fresh);
    old.replaceWith(fresh);
    afterwards?.();
    const target = focused && (document.getElementById(focused) ?? (id === "lesson" && document.getElementById("main")));
    if (target) target.focus({ preventScroll: true });
  }
}

/** What to do about a part that has changed: before it is replaced, and afterwards. */
const COMPARE = {
  sequence(old, fresh) {
    const [before, after] = [old, fresh].map((part) => part.querySelector("#login-id")?.textContent);
    const isSame = before === after;
    if (isSame) markNew(old, fresh);
    return () => scrollToEnd(isSame);
  },
  lesson(old, fresh) {
    const isNew = (step) => step.matches(".done") && !old.querySelector(`#${step.id}.done`);
    const done = [...fresh.querySelectorAll(".step")].filter(isNew);
    const isComplete = done.length > 0 && !fresh.querySelector(".step:not(.done)");
    for (const details of fresh.querySelectorAll("details")) {
      details.open = Boolean(old.querySelector("#closing details[open]"));
    }
    if (isComplete) {
      announce("All steps are done.");
    } else if (done.length > 0) {
      announce(`Done: step ${done.map((step) => step.id.slice("step-".length)).join(", ")}.`);
    }
  },
};

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

// Links that stay on the page: logins, arrows, Close, Check again.

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

// Without this script a form loads the page again; with it, the page stays.

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
  if (form.dataset.message) announce(form.dataset.message);
  form.closest(".really")?.removeAttribute("open");
});

// Events, as they happen. A browser opens six connections to one address at most. A hidden
// page, in another tab or behind the back button, must not keep one of them.

let timer;

/** Loads the page once for several events, and not before a form's answer is shown. */
function showSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => (isSending ? showSoon() : show(location.href)), 120);
}

let lastSeq = Number(document.querySelector("[data-seq]").dataset.seq);
let stream = null;

function openStream() {
  if (stream) return;
  stream = new EventSource(`/api/events/stream?after=${lastSeq}`);
  stream.addEventListener("message", (message) => {
    const event = JSON.parse(message.data);
    // After a lost connection the stream starts again from its first address.
    if (event.seq <= lastSeq) return;
    lastSeq = event.seq;
    if (isInspector) announce(describe(event));
    showSoon();
  });
}

function closeStream() {
  stream?.close();
  stream = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return closeStream();
  openStream();
  showSoon();
});
addEventListener("pagehide", closeStream);
addEventListener("pageshow", (event) => {
  if (document.hidden) return;
  openStream();
  if (event.persisted) showSoon();
});

function describe(event) {
  const end = event.fault ? `fault ${event.fault}` : event.resend ? "sent again" : event.status ?? "no answer";
  const rule = event.rule ? `, ${event.rule}: ${event.happened}` : "";
  return `${event.from} to ${event.to}, ${event.operation}: ${end}${rule}.`;
}

// The clock flows between two loads, and the time that is left passes.

const shownSince = new WeakMap();

/** The milliseconds since the script first saw `element`, which a load replaces. */
function ageMs(element) {
  if (!shownSince.has(element)) shownSince.set(element, performance.now());
  return performance.now() - shownSince.get(element);
}

setInterval(() => {
  const time = document.getElementById("time");
  if (time) {
    const now = Number(time.dataset.now) + ageMs(time);
    time.textContent = new Date(now).toISOString().slice(11, 19);
  }
  for (const left of document.querySelectorAll("[data-expires]")) {
    left.dataset.left ??= left.textContent.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
    const seconds = Math.max(0, Math.floor(left.dataset.left - ageMs(left) / 1000));
    left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}, 250);

// Another client may advance or reset the clock, of which no event tells.
setInterval(() => {
  if (isInspector && document.visibilityState === "visible") showSoon();
}, 5000);

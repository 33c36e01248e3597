"use strict";

// The server renders the pages. This script loads a page again when an event arrives and
// replaces the parts that have changed, so that the reader need not reload it. A page works
// without it.

/** The ids of the parts that change. Each page has some of them, and not all at all times. */
const LIVE = [
  "sandboxes", "clock", "advanced", "next-short", "queued", "network-short", "armed",
  "logins", "sequence", "exchange", "lesson", "exercises", "exercise", "guard",
];
const news = document.getElementById("news");
const isInspector = Boolean(document.querySelector("main.inspector"));

/** The last version of each part from the server; the script marks the page's own copy. */
const rendered = new Map(LIVE.map((id) => [id, document.getElementById(id)?.outerHTML]));

let requests = 0;
let isGone = false;

function announce(text) {
  if (news) news.textContent = text;
}

/** Loads the page at `url`, or the page after a form's `request`; null after an error, of which a
 * form may `tell` itself. */
async function load(url, request, tell = (text) => announce(`This was refused: ${text}`)) {
  try {
    const response = await fetch(url, request);
    if (isGone) announce("Back again.");
    isGone = false;
    if (response.headers.get("Content-Type")?.startsWith("text/html")) {
      return { url: request ? response.url : new URL(url, location).href, body: await response.text() };
    }
    tell((await response.json()).message);
  } catch {
    isGone = true;
    announce("The stack does not answer. Is it running?");
  }
  return null;
}

/** Shows the page at `url`, which may be the current one. */
async function show(url, request, tell) {
  const number = ++requests;
  const loaded = await load(url, request, tell);
  // A later request replaces this one.
  if (!loaded || number !== requests) return false;
  if (loaded.url !== location.href) history.pushState(null, "", loaded.url);
  const page = new DOMParser().parseFromString(loaded.body, "text/html");
  document.title = page.title;
  LIVE.forEach((id) => replace(id, page.getElementById(id)));
  showLogins();
  showSteps();
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
    const target = focused && (document.getElementById(focused) ?? (id === "lesson" && (fresh.querySelector(".current") ?? document.getElementById("main"))));
    if (target) target.focus({ preventScroll: true });
  }
}

/** What to do about a part that has changed: before it is replaced, and afterwards. */
const COMPARE = {
  sequence(old, fresh) {
    const [before, after] = [old, fresh].map((part) => part.querySelector("#login-id")?.textContent);
    const isSame = before === after;
    if (isSame) markNew(old, fresh);
    const text = fresh.querySelector("#text");
    if (text) text.open = Boolean(old.querySelector("#text[open]"));
    return () => scrollToEnd(isSame);
  },
  lesson(old, fresh) {
    const isNew = (step) => step.matches(".done") && !old.querySelector(`#${step.id}.done`);
    const done = [...fresh.querySelectorAll(".step")].filter(isNew);
    const isComplete = done.length > 0 && !fresh.querySelector(".step:not(.done)");
    const closing = fresh.querySelector("#closing details");
    if (closing) closing.open = Boolean(old.querySelector("#closing details[open]"));
    if (isComplete) {
      announce("All steps are done.");
    } else if (done.length > 0) {
      announce(`Done: step ${done.map((step) => step.id.slice("step-".length)).join(", ")}.`);
    }
  },
};

/** Hides the logins that were not searched for, and scrolls the list to the one that is open. */
function showLogins() {
  const list = document.querySelector(".logins");
  const words = document.getElementById("search")?.value.toLowerCase() ?? "";
  for (const row of list?.querySelectorAll("li") ?? []) {
    row.classList.toggle("is-unfound", !row.textContent.toLowerCase().includes(words));
  }
  const open = list?.querySelector("[aria-current]");
  if (!open) return;
  const [outer, inner] = [list.getBoundingClientRect(), open.getBoundingClientRect()];
  const isIn = inner.top >= outer.top && inner.bottom <= outer.bottom;
  if (!isIn) list.scrollTop += inner.top - outer.top - outer.height / 3;
}

/** Opens the steps where there is no room for the diagram. */
function showSteps() {
  const steps = document.getElementById("text");
  if (steps && document.querySelector(".canvas").getClientRects().length === 0) steps.open = true;
}

showLogins();
showSteps();
document.getElementById("search")?.addEventListener("input", showLogins);

// A popover of the bar closes when the reader goes on elsewhere, or by Escape.

document.addEventListener("click", (event) => {
  for (const tool of document.querySelectorAll(".tool[open]")) {
    if (!tool.contains(event.target)) tool.open = false;
  }
});

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
  const tool = document.querySelector(".tool[open]");
  if (event.key === "Escape" && tool) {
    tool.open = false;
    tool.querySelector("summary").focus();
  } else if (event.key === "Escape") {
    document.getElementById("close")?.click();
  }
});

addEventListener("popstate", () => show(location.href));

// What only a script can do is hidden until one runs.

function unhide(part) {
  for (const it of part?.querySelectorAll("[data-copy], [data-script]") ?? []) it.hidden = false;
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

/** Tells a refusal beside the field that it is about. */
function tellAt(field) {
  return (text) => {
    field.setAttribute("aria-invalid", "true");
    document.getElementById(field.getAttribute("aria-describedby")).textContent = text;
  };
}

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const fields = new FormData(form, event.submitter);
  const request = { method: "POST", body: new URLSearchParams(fields) };
  const field = form.querySelector("[aria-describedby]");
  field?.removeAttribute("aria-invalid");
  isSending = true;
  const isShown = await show(form.action, request, field && tellAt(field));
  isSending = false;
  if (!isShown) return;
  if (field) field.value = document.getElementById(field.getAttribute("aria-describedby")).textContent = "";
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
  // What changed before it was open, and while it was broken, no event tells.
  for (const change of ["open", "error", "state"]) stream.addEventListener(change, showSoon);
  stream.addEventListener("error", reopenLater);
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

/** A browser tries again by itself, but not after an answer that is no stream. */
function reopenLater() {
  if (stream?.readyState !== EventSource.CLOSED) return;
  closeStream();
  setTimeout(() => document.hidden || openStream(), 2000);
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
  const from = event.from === "consumer" ? "your app" : event.from;
  return `${from} to ${event.to}, ${event.operation}: ${end}${rule}.`;
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
    const rest = left.dataset.left - ageMs(left) / 1000;
    const seconds = Math.max(0, Math.floor(rest));
    if (rest < -1 && !left.dataset.over) {
      left.dataset.over = "true";
      showSoon();
    }
    left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}, 250);

"use strict";

// The presenter's view: the next step without a new page, by mouse or keyboard, and new steps as
// they happen. The server renders every step; without this script its links lead to pages.

/** The time between two new steps, in milliseconds: one can be read aloud. */
const PACE = 700;

const at = (id) => document.getElementById(id);
const shown = () => {
  const { number, count, seq } = at("present").dataset;
  return { number: Number(number), count: Number(count), seq: Number(seq) };
};

/** The last step that was there when the reader last looked at the end. */
let known = shown().count;
let following;
let requests = 0;

/** Shows the step at `url`; false after an error, or if another was asked for meanwhile. */
async function show(url) {
  const request = ++requests;
  let page;
  try {
    const response = await fetch(url);
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    at("news").textContent = "The stack does not answer. Is it running?";
    return false;
  }
  const fresh = page.getElementById("present");
  if (request !== requests || !fresh) return false;
  // A step is no page of its own: Back leads to where the reader came from.
  history.replaceState(null, "", url);
  document.title = page.title;
  replace(fresh);
  const { number, count } = shown();
  known = Math.max(known, number);
  const more = at("new");
  more.hidden = following !== undefined || count <= known;
  more.href = `${fresh.dataset.path}?arrow=${known + 1}`;
  more.textContent = `${count - known} new →`;
  toEnd();
  return true;
}

/** Replaces the content of each part, so that a screen reader announces the sentence. */
function replace(fresh) {
  const focused = document.activeElement?.id;
  const parts = ["stage", "sentence", "steps"].map((id) => [at(id), fresh.querySelector(`#${id}`)]);
  if (parts.flat().every(Boolean) && !document.querySelector(".problem")) {
    for (const [old, part] of parts) old.replaceChildren(...part.childNodes);
    Object.assign(at("present").dataset, fresh.dataset);
  } else {
    at("present").replaceWith(fresh);
  }
  if (focused) at(focused)?.focus({ preventScroll: true });
}

function toEnd() {
  const stage = at("stage");
  if (stage) stage.scrollTop = stage.scrollHeight;
}

/** Shows the step at `url`, as the reader asks for. */
function go(url) {
  clearTimeout(following);
  following = undefined;
  return show(url);
}

/** Shows the steps that have come, one by one, until the last or until the reader moves. */
function follow() {
  following = setTimeout(async () => {
    await show(`${at("present").dataset.path}?arrow=${shown().number + 1}`);
    if (following === undefined) return;
    following = undefined;
    if (shown().number < shown().count) follow();
  }, PACE);
}

/** Loads the step again; a reader at the last one follows those that have come after it. */
async function refresh() {
  const { number, count } = shown();
  if (!(await show(location.href)) || following !== undefined) return;
  if (number === count && shown().number < shown().count) {
    at("new").hidden = true;
    follow();
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("#steps a:not(#leave)");
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain) return;
  event.preventDefault();
  go(link.href);
});

/** The links that keys press. */
const KEYS = {
  ArrowRight: "after", PageDown: "after", " ": "after",
  ArrowLeft: "before", PageUp: "before",
  Home: "first", End: "last", Escape: "leave",
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (event.key === "f") toggleFullscreen();
  const id = KEYS[event.key];
  if (!id) return;
  event.preventDefault();
  at(id)?.click();
});

function toggleFullscreen() {
  const toggled = document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen();
  // The browser may forbid it; the page is the same without.
  toggled.catch(() => {});
}

// The events of this login, as they happen. A hidden page must not keep a connection.

let stream = null;
let timer;

function openStream() {
  if (stream || document.hidden) return;
  const login = at("present").dataset.path.replace("/present/", "");
  stream = new EventSource(`/api/events/stream?after=${shown().seq}&login=${encodeURIComponent(login)}`);
  for (const kind of ["message", "state"]) {
    stream.addEventListener(kind, () => {
      clearTimeout(timer);
      timer = setTimeout(refresh, 120);
    });
  }
}

function closeStream() {
  stream?.close();
  stream = null;
}

function onVisible() {
  openStream();
  refresh();
}

document.addEventListener("visibilitychange", () => (document.hidden ? closeStream() : onVisible()));
addEventListener("pagehide", closeStream);
addEventListener("pageshow", (event) => event.persisted && onVisible());
openStream();
toEnd();

"use strict";

// The server draws everything. This asks it again when something has happened, and
// puts what is new in its place, so that nobody has to reload the page.

const LIVE = ["clock", "queued", "standing", "logins", "story", "exchange"];
const main = document.getElementById("main");
const news = document.getElementById("news");

/** What the server last said of each live part: the page's own copy may be marked. */
const said = new Map(LIVE.map((id) => [id, document.getElementById(id)?.outerHTML]));

let asked = 0;
let lastSeq = Number(main.dataset.seq);

function say(text) {
  news.textContent = text;
}

/** The page at `url`, or after what `request` does there; nothing if it was refused. */
async function ask(url, request) {
  try {
    const response = await fetch(url, request);
    if (response.headers.get("Content-Type")?.startsWith("text/html")) {
      return { url: response.url, body: await response.text() };
    }
    say(`This was refused: ${(await response.json()).message}`);
  } catch {
    say("The stack does not answer. Is it running?");
  }
  return null;
}

/** Shows the page at `url`, which may be the one that is shown. */
async function show(url, request) {
  const turn = ++asked;
  const answer = await ask(url, request);
  // Somebody may have asked for something else meanwhile.
  if (!answer || turn !== asked) return false;
  if (answer.url !== location.href) history.pushState(null, "", answer.url);
  const page = new DOMParser().parseFromString(answer.body, "text/html");
  document.title = page.title;
  LIVE.forEach((id) => replace(id, page.getElementById(id)));
  return true;
}

function replace(id, fresh) {
  const old = document.getElementById(id);
  if (fresh?.outerHTML === said.get(id)) return;
  said.set(id, fresh?.outerHTML);
  if (!fresh) {
    old?.remove();
  } else if (!old) {
    main.append(fresh);
  } else {
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    const isSame = id === "story" && isSameLogin(old, fresh);
    if (isSame) markNew(old, fresh);
    old.replaceWith(fresh);
    if (id === "story") follow(isSame);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

function isSameLogin(old, fresh) {
  const [its, other] = [old, fresh].map((story) => story.querySelector("#fingerprint")?.textContent);
  return its === other;
}

/** Marks the arrows that were not there before. */
function markNew(old, fresh) {
  for (const step of fresh.querySelectorAll(".step[id]")) {
    if (!old.querySelector(`#${CSS.escape(step.id)}`)) step.classList.add("new");
  }
}

/** Keeps what is new in sight, for whoever follows the newest login and chooses nothing. */
function follow(isSame) {
  const isBusy = document.activeElement?.matches("select") || document.getElementById("exchange");
  if (location.pathname !== "/" || isBusy) return;
  if (isSame && !document.querySelector(".step.new")) return;
  document.querySelector(".diagram > :last-child")?.scrollIntoView({ block: "nearest" });
}

/** Keeps the chosen arrow in sight, above what it opened. */
function showChosen() {
  const chosen = [...document.querySelectorAll("#story [aria-current]")];
  chosen.find((it) => it.getClientRects().length > 0)?.scrollIntoView({ block: "nearest" });
}

// Links within the page: a login, an arrow, the way back.

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
    showChosen();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.getElementById("close")?.click();
});

addEventListener("popstate", () => show(location.href));

// The forms work without this, too; with it, the page stays where it is.

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const fields = new FormData(form, event.submitter);
  const request = { method: "POST", body: new URLSearchParams(fields) };
  if (await show(form.action, request)) say(form.dataset.says);
});

// What happens, as it happens.

let timer;

/** Several things happen at once; one look is enough for them. */
function lookSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => show(location.href), 120);
}

new EventSource(`/api/events/stream?after=${lastSeq}`).addEventListener("message", (message) => {
  const event = JSON.parse(message.data);
  // After a broken connection the stream begins anew.
  if (event.seq <= lastSeq) return;
  lastSeq = event.seq;
  say(inWords(event));
  lookSoon();
});

function inWords(event) {
  const end = event.fault ? `struck by ${event.fault}` : event.resend ? "comes again" : event.status ?? "no answer";
  const rule = event.rule ? `, ${event.rule}: ${event.says}` : "";
  return `${event.from} to ${event.to}, ${event.operation}: ${end}${rule}.`;
}

// The clock flows, and somebody else may move it, or begin a new world.

let clock = { now: 0, since: 0, shown: null };

setInterval(() => {
  const time = document.getElementById("time");
  if (clock.shown !== time) clock = { now: Number(time.dataset.now), since: performance.now(), shown: time };
  time.textContent = new Date(clock.now + performance.now() - clock.since).toISOString().slice(11, 19);
}, 250);

setInterval(() => {
  if (document.visibilityState === "visible") show(location.href);
}, 5000);

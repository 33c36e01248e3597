"use strict";

// What only the student's browser knows: which lessons are done, and the language of the code.
// The stack keeps nothing about a student.

const PROGRESS = "kit.lessons";
const LANGUAGE = "kit.language";

function stored(key) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing: the lessons work without it.
  }
}

/** Notes how far the lesson on this page is, and where it began. */
function note(lesson) {
  const { lesson: id, done, steps } = lesson.dataset;
  const all = stored(PROGRESS);
  const isDone = all[id]?.isDone || done === steps;
  all[id] = { isDone, done: Number(done), steps: Number(steps), path: location.pathname + location.search };
  store(PROGRESS, all);
}

/** Shows on the list what is done, and the lesson to go on with. */
function list() {
  const all = stored(PROGRESS);
  const cards = [...document.querySelectorAll(".cards [data-lesson]")];
  for (const card of cards) {
    const its = all[card.dataset.lesson];
    if (!its) continue;
    card.classList.toggle("finished", its.isDone);
    const text = its.isDone ? "✓ done" : `${its.done} of ${its.steps} steps`;
    card.querySelector(".progress").textContent = ` · ${text}`;
  }
  const first = cards.findIndex((card) => !all[card.dataset.lesson]?.isDone);
  if (first < 0 || Object.keys(all).length === 0) return;
  const link = cards[first].querySelector("a");
  const go = document.querySelector("#continue a");
  go.textContent = `Continue lesson ${first + 1}`;
  go.href = all[cards[first].dataset.lesson]?.path ?? link.href;
  document.querySelector("#continue .quiet").textContent = link.textContent.replace(/^\d+\. /, "");
  document.getElementById("continue").hidden = false;
}

/** Chooses the language that was chosen last. */
function chooseLanguage() {
  const radio = document.getElementById(`language-${stored(LANGUAGE).name}`);
  if (radio) radio.checked = true;
}

let before = [];

/** After each change of the lesson, by another script. */
function changed() {
  const lesson = document.getElementById("lesson");
  if (!lesson) return;
  chooseLanguage();
  note(lesson);
  const done = [...lesson.querySelectorAll(".step.done")].map((step) => step.id);
  const undone = before.find((id) => !done.includes(id));
  before = done;
  if (!undone) return;
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.textContent = `Step ${undone.slice("step-".length)} is open again: what it had armed was cleared, or the stack was reset.`;
  lesson.querySelector(".steps").before(notice);
}

document.addEventListener("change", (event) => {
  if (event.target.name === "language") store(LANGUAGE, { name: event.target.value });
});

if (document.getElementById("lesson")) {
  changed();
  document.querySelector(".step.current")?.focus({ preventScroll: true });
  new MutationObserver(changed).observe(document.getElementById("main"), { childList: true });
} else {
  list();
}

"use strict";

// The wall of a class, as it changes. The server renders it; without this script the reader
// loads the page again.

/** The time between two looks, in milliseconds. */
const INTERVAL = 1000;
const SILENT = "The stack does not answer. Is it running?";

const news = document.getElementById("news");

/** Replaces the parts that have changed. */
async function look(ids) {
  try {
    const response = await fetch("/class");
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const id of ids) {
      const [old, fresh] = [document, page].map((it) => it.getElementById(id));
      if (fresh.outerHTML !== old.outerHTML) old.replaceWith(fresh);
    }
    news.textContent = "";
  } catch {
    news.textContent = SILENT;
  }
}

async function lookOften() {
  if (!document.hidden) await look(["wall"]);
  setTimeout(lookOften, INTERVAL);
}

setTimeout(lookOften, INTERVAL);

// A refused form says why on the page, instead of on one of its own.
document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  try {
    const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (response.ok) return location.assign("/class");
    document.getElementById("problem").textContent = (await response.json()).message;
  } catch {
    news.textContent = SILENT;
  }
  // Some learners may have a sandbox none the less.
  look(["wall", "manage"]);
});

document.addEventListener("click", (event) => {
  if (event.target.id === "print") window.print();
});

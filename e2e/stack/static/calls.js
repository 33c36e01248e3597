"use strict";

// The page /calls: copies a command, and makes its call. And the documents: copies code.

const news = document.getElementById("news");

for (const it of document.querySelectorAll("[data-script]")) it.hidden = false;

document.querySelectorAll(".document pre").forEach((pre, index) => {
  const button = document.createElement("button");
  pre.id = `code-${index}`;
  Object.assign(button, { type: "button", className: "secondary", textContent: "Copy" });
  button.dataset.copy = pre.id;
  const box = document.createElement("div");
  box.className = "copied";
  pre.replaceWith(box);
  box.append(pre, button);
});

document.addEventListener("click", async (event) => {
  const source = event.target.closest("[data-copy]")?.dataset.copy;
  if (!source) return;
  try {
    await navigator.clipboard.writeText(document.getElementById(source).textContent);
    news.textContent = "Copied.";
  } catch {
    news.textContent = "The browser does not allow copying here.";
  }
});

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  const { path, body } = form.elements;
  const answer = form.nextElementSibling;
  const request = { method: form.dataset.method, headers: {} };
  if (body) {
    request.body = body.value;
    request.headers["Content-Type"] = "application/json";
  }
  answer.hidden = false;
  try {
    const response = await fetch(path.value, request);
    const text = await response.text();
    answer.textContent = `${response.status} ${response.statusText}\n${pretty(text)}`.trim();
  } catch {
    answer.textContent = "The stack does not answer. Is it running?";
  }
});

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

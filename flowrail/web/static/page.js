"use strict";
// Keeps the page up to date, filters the board, replays a session, and sends answers.

const main = () => document.getElementById("main");
const csrf = document.querySelector('meta[name="csrf"]').content;

/* ---- loading the page again, without losing what the reader does ---- */

async function load(address, { push = false } = {}) {
  const response = await fetch(address, { headers: { accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.getElementById("main");
  if (!fresh) return false;
  const before = readerState();
  main().innerHTML = fresh.innerHTML;
  document.title = page.title;
  restore(before);
  if (push) history.replaceState(null, "", address);
  prepare();
  if (push) showCurrentStep();
  return response.ok;
}

function readerState() {
  const focused = document.activeElement;
  return {
    focus: focused && main().contains(focused) ? pathOf(focused) : null,
    scroll: [...main().querySelectorAll("[tabindex='0']")].map((part) => [part.scrollLeft, part.scrollTop]),
    texts: [...main().querySelectorAll("input[type=text], input[type=search]")].map((field) => field.value),
    marks: [...main().querySelectorAll("input[type=checkbox]")].map((field) => field.checked),
    open: [...main().querySelectorAll("details")].map((part) => part.open),
  };
}

function restore(before) {
  const same = (selector, values, set) => {
    const parts = [...main().querySelectorAll(selector)];
    if (parts.length === values.length) parts.forEach((part, index) => set(part, values[index]));
  };
  same("[tabindex='0']", before.scroll, (part, [left, top]) => { part.scrollLeft = left; part.scrollTop = top; });
  same("input[type=text], input[type=search]", before.texts, (field, value) => { field.value = value; });
  same("input[type=checkbox]", before.marks, (field, value) => { field.checked = value; });
  same("details", before.open, (part, value) => { part.open = value; });
  if (before.focus) {
    const part = document.querySelector(before.focus);
    if (part) part.focus({ preventScroll: true });
  }
}

function pathOf(part) {
  if (part.id) return `#${CSS.escape(part.id)}`;
  const position = [...part.parentElement.children].indexOf(part) + 1;
  return `${pathOf(part.parentElement)} > :nth-child(${position})`;
}

function isAboutThisPage(keys) {
  const session = location.pathname.match(/^\/sessions\/([^/]+)/);
  if (!session) return true;
  return keys.some((key) => key === `session:${session[1]}`) || main().querySelector(".cards") !== null;
}

function listen() {
  const live = document.getElementById("live");
  const events = new EventSource("/events");
  events.onerror = () => {
    live.textContent = "no connection; start flow ui again";
    live.classList.add("lost");
  };
  events.onmessage = async (event) => {
    const keys = JSON.parse(event.data); // empty when the connection begins: something may have changed before
    const replaying = new URLSearchParams(location.search).has("at");
    if (!replaying && (!keys.length || isAboutThisPage(keys))) {
      await load(location.href);
      if (keys.length) live.textContent = "updated";
    }
    live.classList.remove("lost");
    setTimeout(() => { live.textContent = "live"; }, keys.length ? 1500 : 0);
  };
}

/* ---- times ---- */

const UNITS = [["d", 86400], ["h", 3600], ["min", 60]];

function refreshTimes() {
  for (const part of document.querySelectorAll("time[datetime]")) {
    const seconds = (Date.now() - Date.parse(part.dateTime)) / 1000;
    if (Number.isNaN(seconds)) continue;
    const unit = UNITS.find(([, size]) => seconds >= size);
    part.textContent = part.classList.contains("clock") ? timeOfDay(new Date(part.dateTime), seconds)
      : unit ? `${Math.floor(seconds / unit[1])} ${unit[0]} ago` : "just now";
  }
}

function timeOfDay(moment, age) {
  const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  return age < 86400 ? time : `${moment.toLocaleDateString()} ${time}`;
}

/* ---- what each page can do ---- */

// A long drawing opens at the step where the session is.
function showCurrentStep() {
  const step = main().querySelector(".drawing .here");
  if (!step) return;
  const drawing = step.closest(".drawing"), at = step.getBoundingClientRect(), box = drawing.getBoundingClientRect();
  if (at.bottom > box.bottom || at.top < box.top) drawing.scrollTop += at.top - box.top - box.height / 2;
}

function prepare() {
  const filter = document.getElementById("filter");
  if (filter) {
    filter.addEventListener("input", () => applyFilter(filter.value));
    if (filter.value) applyFilter(filter.value);
  }
  const slider = document.getElementById("at");
  if (slider) slider.addEventListener("change", () => load(`?at=${slider.value}`, { push: true }));
  nameCells();
  refreshTimes();
}

// On a phone, each row of a table is a block, and each cell has the name of its column.
function nameCells() {
  for (const table of main().querySelectorAll("table")) {
    const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows) {
      for (const cell of row.cells) cell.dataset.label = names[cell.cellIndex];
    }
  }
}

function applyFilter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const card of main().querySelectorAll("[data-search]")) {
    const matches = words.every((word) => card.dataset.search.toLowerCase().includes(word));
    card.hidden = !matches;
    shown += matches ? 1 : 0;
  }
  document.getElementById("filtered").textContent = words.length ? `${shown} shown` : "";
}

async function send(address, body) {
  const problem = document.getElementById("problem");
  const response = await fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json", "x-flow-csrf": csrf },
    body: JSON.stringify(body),
  });
  if (response.ok) {
    await load(location.pathname, { push: true });
    (main().querySelector(".made") || main()).focus();
    return;
  }
  const error = await response.json().catch(() => ({ message: "the answer could not be recorded", hint: "" }));
  problem.textContent = `${error.message}. ${error.hint}`;
  problem.hidden = false;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='?at=']");
  if (link) {
    event.preventDefault();
    load(link.getAttribute("href"), { push: true });
    return;
  }
  const button = event.target.closest("button");
  const form = button && button.form;
  if (!form) return;
  const at = { revision: Number(form.dataset.revision) };
  const words = answerOf(button, form), field = form.elements.reason;
  field.required = button.hasAttribute("data-needs-reason");
  if (!words.length || !form.reportValidity()) return;
  send(`/sessions/${form.dataset.session}/answer`, { ...at, reason: field.value, answers: { [form.dataset.question]: words } });
});

document.addEventListener("submit", (event) => event.preventDefault());

function answerOf(button, form) {
  if (button.hasAttribute("data-option")) return [button.dataset.option];
  if (button.hasAttribute("data-selected")) {
    return [...form.querySelectorAll("input[name=option]:checked")].map((field) => field.value);
  }
  const other = form.elements.other.value.trim();
  return other ? [`other:${other}`] : [];
}

prepare();
showCurrentStep();
listen();
setInterval(refreshTimes, 30000);

// A table that moves: rows change in place, those that changed last come first. Whatever comes is shown as text.
"use strict";

const wishesDark = window.matchMedia("(prefers-color-scheme: dark)");
const paint = () => { document.documentElement.dataset.theme = wishesDark.matches ? "dark" : "light"; };
paint();
wishesDark.addEventListener("change", paint);

document.addEventListener("DOMContentLoaded", () => {
  const table = document.getElementById("values");
  if (!table) return;
  const most = Number(table.dataset.limit);
  const body = table.tBodies[0];
  const state = document.getElementById("state");
  const trouble = document.getElementById("trouble");
  const pause = document.getElementById("pause");
  const rows = new Map();
  let columns = [...table.tHead.rows[0].cells].slice(0, -1).map((cell) => cell.textContent);
  let paused = false;
  let waiting = [];

  const text = (value) => (value === null ? "null" : typeof value === "object" ? JSON.stringify(value) : String(value));

  function widen(fields) {
    for (const column of Object.keys(fields)) {
      if (columns.includes(column)) continue;
      columns.push(column);
      const head = document.createElement("th");
      head.scope = "col";
      head.textContent = column;
      table.tHead.rows[0].insertBefore(head, table.tHead.rows[0].lastElementChild);
      for (const row of body.rows) row.insertBefore(document.createElement("td"), row.lastElementChild);
    }
  }

  function put(value, isNews) {
    const key = JSON.stringify(value.key);
    widen(value.fields);
    const row = rows.get(key) || document.createElement("tr");
    const cells = columns.map((column) => (column in value.fields ? text(value.fields[column]) : ""));
    cells.push(value.at.slice(0, 19).replace("T", " "));
    row.replaceChildren(...cells.map((cell) => Object.assign(document.createElement("td"), { textContent: cell })));
    rows.delete(key);
    rows.set(key, row);
    body.prepend(row);
    if (isNews) {
      row.classList.add("new");
      setTimeout(() => row.classList.remove("new"), 1000);
    }
  }

  function drop(key) {
    const row = rows.get(key);
    if (row) row.remove();
    rows.delete(key);
  }

  function take(kind, data) {
    if (kind === "reset") {
      rows.clear();
      body.replaceChildren();
    }
    for (const key of data.gone || []) drop(JSON.stringify(key));
    for (const value of data.values || []) put(value, kind === "change");
    while (rows.size > most) drop(rows.keys().next().value);
    const empty = document.getElementById("empty");
    if (empty) empty.hidden = rows.size > 0;
  }

  function hear(kind, event) {
    const data = JSON.parse(event.data);
    if (!paused) take(kind, data);
    else if (kind === "reset") waiting = [[kind, data]];
    else if (waiting.length < 1000) waiting.push([kind, data]);
    else source.close(); // resuming starts over
  }

  let source;
  function open() {
    source = new EventSource(table.dataset.events);
    source.addEventListener("open", () => { state.textContent = paused ? "paused" : "live"; state.className = "mark good"; });
    source.addEventListener("error", () => { state.textContent = "not connected"; state.className = "mark warning"; });
    source.addEventListener("reset", (event) => hear("reset", event));
    source.addEventListener("change", (event) => hear("change", event));
    source.addEventListener("condition", (event) => {
      const said = JSON.parse(event.data).trouble;
      trouble.textContent = said;
      trouble.hidden = !said;
    });
  }
  open();

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    state.textContent = paused ? "paused" : "live";
    if (paused) return;
    if (source.readyState === EventSource.CLOSED) open();
    for (const [kind, data] of waiting) take(kind, data);
    waiting = [];
  });
});

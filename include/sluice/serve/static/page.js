// A page that moves: a panel that has changed is made what the server says, element by element, so that what has the
// focus, is pointed at, is scrolled or is open stays so.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const panels = document.getElementById("panels");
  if (!panels) return;
  const ANNOUNCED_EVERY = 10000;
  const STALE_AFTER = 40000; // the server says something every 15 s
  const state = document.getElementById("state");
  const pause = document.getElementById("pause");
  const announcement = document.getElementById("announcement");
  const waiting = new Map();
  let paused = false;
  let heard = Date.now();
  let source;

  const clock = (at) => `${new Date(at).toISOString().slice(11, 19)} UTC`;

  function show(words, tone) {
    if (state.textContent === words) return;
    state.textContent = words;
    state.className = `mark ${tone}`;
  }

  // What the reader has made of an element is no business of the server's: an open list of values, a chosen mark.
  const kept = (element, name) => name === "open" || (name === "class" && element.classList.contains("chosen"));

  function become(element, wanted) {
    if (element.matches(".readout")) return;
    for (const { name } of [...element.attributes]) {
      if (!wanted.hasAttribute(name) && !kept(element, name)) element.removeAttribute(name);
    }
    for (const { name, value } of wanted.attributes) {
      if (element.getAttribute(name) !== value && !kept(element, name)) element.setAttribute(name, value);
    }
    const news = [...wanted.childNodes];
    const olds = [...element.childNodes];
    news.forEach((node, place) => {
      const old = olds[place];
      if (!old) element.append(node);
      else if (old.nodeType !== node.nodeType || old.nodeName !== node.nodeName) old.replaceWith(node);
      else if (node.nodeType === Node.ELEMENT_NODE) become(old, node);
      else if (old.nodeValue !== node.nodeValue) old.nodeValue = node.nodeValue;
    });
    olds.slice(news.length).forEach((old) => old.remove());
  }

  // A screen reader hears of numbers, all that have changed at once, and not more often than it can read them out.
  const unsaid = new Map();
  let saidAt = 0;
  let timer = 0;
  function announce() {
    timer = 0;
    saidAt = Date.now();
    announcement.textContent = [...unsaid.values()].join("; ");
    unsaid.clear();
  }
  function remember(panel) {
    if (!panel.dataset.announce) return;
    unsaid.set(panel.id, panel.dataset.announce);
    if (!timer) timer = setTimeout(announce, Math.max(0, saidAt + ANNOUNCED_EVERY - Date.now()));
  }

  function take({ place, html }) {
    const old = document.getElementById(`panel-${place}`);
    const wanted = new DOMParser().parseFromString(html, "text/html").querySelector("section");
    if (!old || !wanted) return;
    const before = old.dataset.announce;
    become(old, wanted);
    if (old.dataset.announce !== before) remember(old);
    old.dispatchEvent(new Event("redrawn", { bubbles: true }));
  }

  function hear() {
    heard = Date.now();
    show(paused ? "paused" : "live", paused ? "quiet" : "good");
  }

  function open(since) {
    const address = new URL(panels.dataset.events, window.location.href);
    if (since) address.searchParams.set("since", since);
    source = new EventSource(address);
    source.addEventListener("alive", hear);
    source.addEventListener("panels", (event) => {
      hear();
      last = event.lastEventId;
      for (const panel of JSON.parse(event.data).panels) {
        if (paused) waiting.set(panel.place, panel);
        else take(panel);
      }
    });
    source.addEventListener("end", () => {
      source.close();
      setTimeout(() => window.location.reload(), 1000 + 2000 * Math.random());
    });
    source.addEventListener("error", () => show(`not connected since ${clock(heard)}`, "warning"));
  }
  let last = "";
  open(last);

  // A connection may be dead without an error, and one that was refused is not tried again by itself.
  setInterval(() => {
    if (Date.now() - heard < STALE_AFTER && source.readyState !== EventSource.CLOSED) return;
    show(`not connected since ${clock(heard)}`, "warning");
    source.close();
    open(last);
  }, STALE_AFTER / 4);

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (source.readyState === EventSource.OPEN) hear();
    if (paused) return;
    for (const panel of waiting.values()) take(panel);
    waiting.clear();
  });
});

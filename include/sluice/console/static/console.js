// What a page does by itself: it takes Airflow's colours, keeps itself fresh, and asks before it asks for anything.
"use strict";

const outer = (() => {
  try {
    return window.parent !== window && window.parent.document ? window.parent : null;
  } catch {
    return null; // a frame of another origin
  }
})();

// Airflow keeps its theme as a class of its own page; alone, the browser says what is wished.
const wishesDark = window.matchMedia("(prefers-color-scheme: dark)");
function paint() {
  const root = outer && outer.document.documentElement;
  const themed = root && (root.classList.contains("dark") || root.classList.contains("light"));
  const dark = themed ? root.classList.contains("dark") : wishesDark.matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
paint();
wishesDark.addEventListener("change", paint);
if (outer) {
  new MutationObserver(paint).observe(outer.document.documentElement, { attributes: true, attributeFilter: ["class"] });
}

// A link to Airflow's own pages, out of its frame: Airflow's router is asked, since a frame may not navigate its parent.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-airflow]");
  if (!link || !outer || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  outer.history.pushState({}, "", link.href);
  outer.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (opener) document.getElementById(opener.dataset.dialog).showModal();
  if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
});

// The page is fetched again and its content replaced, unless a dialog, an input or a selection is in use.
let seconds = 0;
function busy() {
  const at = document.activeElement;
  return document.hidden || document.querySelector("dialog[open]") || (at && at.matches("input, select, textarea, pre"))
    || !window.getSelection().isCollapsed;
}
async function refresh() {
  if (!busy()) {
    try {
      const answer = await fetch(window.location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
      if (answer.ok && !busy()) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const place = focusPlace();
        document.querySelector("main").replaceChildren(...fresh.querySelector("main").childNodes);
        document.querySelector("footer").replaceChildren(...fresh.querySelector("footer").childNodes);
        document.title = fresh.title;
        seconds = Number(fresh.body.dataset.refresh || seconds);
        if (place >= 0) focusable()[place]?.focus({ preventScroll: true });
      } else if (answer.type === "opaqueredirect" || answer.status === 401) {
        window.location.reload(); // the login is over
        return;
      }
    } catch {
      // The server is away: what is shown stays, as old as its footer says.
    }
  }
  setTimeout(refresh, seconds * 1000);
}
const focusable = () => [...document.querySelectorAll("main a, main button, main input, main pre, main .plot, main summary")];
const focusPlace = () => focusable().indexOf(document.activeElement);
document.addEventListener("DOMContentLoaded", () => {
  seconds = Number(document.body.dataset.refresh || 0);
  if (seconds) setTimeout(refresh, seconds * 1000);
});

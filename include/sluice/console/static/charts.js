// Charts for those who use keys: a chart has the focus once, arrow keys lead through its values, and each is read out.
"use strict";

(() => {
  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
  const areasOf = (plot) => [...plot.querySelectorAll(".mark-area")];
  const chosenOf = (areas) => areas.findIndex((area) => area.classList.contains("chosen"));

  // What moves by itself is not read out: only what was asked for by a key.
  function choose(plot, place, { aloud = true } = {}) {
    const areas = areasOf(plot);
    const at = Math.max(0, Math.min(place, areas.length - 1));
    areas.forEach((area, number) => area.classList.toggle("chosen", number === at && place !== null));
    const readout = plot.parentElement.querySelector(".readout");
    const words = place === null || !areas[at] ? "" : areas[at].querySelector("title").textContent;
    readout.setAttribute("aria-live", aloud ? "polite" : "off");
    if (readout.textContent !== words) readout.textContent = words;
  }

  document.addEventListener("keydown", (event) => {
    const plot = event.target;
    if (!plot.matches || !plot.matches(".plot") || event.ctrlKey || event.metaKey || event.altKey) return;
    const areas = areasOf(plot);
    const now = chosenOf(areas);
    if (event.key in STEPS) choose(plot, now < 0 ? areas.length - 1 : now + STEPS[event.key]);
    else if (event.key === "Home") choose(plot, 0);
    else if (event.key === "End") choose(plot, areas.length - 1);
    else if (event.key === "Escape") choose(plot, null);
    else return;
    event.preventDefault();
  });

  // The chosen value may have become another one.
  document.addEventListener("redrawn", (event) => {
    for (const plot of event.target.querySelectorAll(".plot")) {
      const now = chosenOf(areasOf(plot));
      if (now >= 0) choose(plot, now, { aloud: false });
    }
  });

  document.addEventListener("focusout", (event) => {
    if (event.target.matches(".plot") && event.target.isConnected) choose(event.target, null);
  });
})();

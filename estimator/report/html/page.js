"use strict";
(() => {
  const key = (cell) => {
    const raw = cell.dataset.k;
    if (raw === undefined) return cell.textContent.toLowerCase();
    if (raw === "") return null;
    const number = Number(raw);
    return Number.isNaN(number) ? raw.toLowerCase() : number;
  };
  const order = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };

  const sortable = (block) => {
    const body = block.querySelector("tbody");
    const heads = [...block.querySelectorAll("thead th")];
    heads.forEach((head, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => [key(row.cells[index]), row]);
        rows.sort(([a], [b]) => {
          if (a === null || b === null) return (a === null) - (b === null); // no value: always last
          return up ? order(a, b) : order(b, a);
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  };

  const filterable = (block, number) => {
    const rows = [...block.querySelectorAll("tbody tr")];
    const tools = document.createElement("div");
    tools.className = "tools";
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("output");
    input.type = "search";
    input.id = `filter-${number}`;
    label.htmlFor = input.id;
    label.textContent = `Filter: ${block.querySelector("caption").textContent}`;
    count.setAttribute("aria-live", "polite");
    count.textContent = `${rows.length} rows`;
    tools.append(label, input, count);
    block.prepend(tools);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = words.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows`;
    });
  };

  const tip = document.getElementById("tip");
  let shown = null;
  const show = (mark) => {
    shown = mark;
    const box = mark.getBoundingClientRect();
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const half = tip.offsetWidth / 2;
    const middle = box.left + box.width / 2;
    const left = Math.min(Math.max(middle - half, 8), document.documentElement.clientWidth - tip.offsetWidth - 8);
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${(above < 4 ? box.bottom + 8 : above) + window.scrollY}px`;
  };
  const hide = () => { tip.hidden = true; };

  const pointed = (plot) => {
    const marks = [...plot.querySelectorAll(".mark")];
    const wide = [...plot.parentElement.querySelectorAll("svg.wide .mark")]; // has the tips of the narrow one, too
    for (const [index, mark] of marks.entries()) { // the page's own tooltip takes the place of the browser's
      const title = mark.querySelector("title");
      mark.dataset.tip = title ? title.textContent : wide[index].dataset.tip;
      if (title) title.remove();
      mark.addEventListener("pointerenter", () => show(mark));
      mark.addEventListener("pointerleave", () => { if (shown === mark) hide(); });
    }
    if (!marks.length) return;
    let current = -1;
    plot.tabIndex = 0;
    plot.setAttribute("aria-label", `${plot.getAttribute("aria-label")} Arrow keys go through the marks.`);
    const go = (index) => {
      if (current >= 0) marks[current].classList.remove("current");
      current = (index + marks.length) % marks.length;
      marks[current].classList.add("current");
      show(marks[current]);
    };
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (step === undefined) return;
      event.preventDefault();
      go(current < 0 && step < 0 ? marks.length - 1 : current + step);
    });
    plot.addEventListener("blur", () => {
      if (current >= 0) marks[current].classList.remove("current");
      current = -1;
      hide();
    });
  };

  document.querySelectorAll("[data-sortable]").forEach(sortable);
  document.querySelectorAll("[data-filterable]").forEach(filterable);
  document.querySelectorAll("svg.plot").forEach(pointed);
  document.documentElement.dataset.ready = "yes";
})();

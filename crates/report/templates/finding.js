"use strict";
(function () {
  // The faulty line in the middle of its box, in every box that has it.
  function focus() {
    for (const box of document.querySelectorAll(".src")) {
      const line = box.querySelector(".fault");
      if (line) box.scrollTop = Math.max(0, line.offsetTop - box.offsetTop - box.clientHeight / 2);
    }
  }

  const embedded = document.getElementById("data");
  if (!embedded) return focus();
  const data = JSON.parse(embedded.textContent);

  function pane(id, trace, start) {
    const root = document.getElementById(id);
    const slider = root.querySelector("input");
    const lines = new Map();
    for (const line of root.querySelectorAll(".src div")) lines.set(Number(line.dataset.line), line);
    for (const step of trace.steps) {
      const line = lines.get(step[0]);
      if (line) {
        line.classList.add("ran");
        line.querySelector("u").textContent = "•";
      }
    }
    slider.max = Math.max(0, trace.steps.length - 1);
    let at = -1;

    function show(next) {
      if (trace.steps.length === 0) return;
      const bounded = Math.min(Math.max(next, 0), trace.steps.length - 1);
      if (at >= 0) {
        const before = lines.get(trace.steps[at][0]);
        if (before) before.classList.remove("now");
      }
      at = bounded;
      const [number, pc, stack, vars] = trace.steps[at];
      const line = lines.get(number);
      if (line) {
        line.classList.add("now");
        const box = root.querySelector(".src");
        const top = line.offsetTop - box.offsetTop;
        if (top < box.scrollTop + 40 || top > box.scrollTop + box.clientHeight - 60) box.scrollTop = Math.max(0, top - box.clientHeight / 2);
      }
      slider.value = at;
      root.querySelector(".pos").textContent = "stop " + (at + 1) + " of " + trace.steps.length + " · line " + (number || "none") + " · " + data.strings[pc];
      root.querySelector(".stack").textContent = data.strings[stack];
      const table = document.createElement("table");
      // The variable the fault is about comes first.
      const about = (index) => data.variable !== null && data.strings[data.vars[index][0]] === data.variable;
      for (const index of [...vars.filter(about), ...vars.filter((v) => !about(v))]) {
        const [name, kind, state, value] = data.vars[index];
        const row = table.insertRow();
        if (about(index)) row.className = "fault";
        row.insertCell().textContent = data.strings[name];
        const text = row.insertCell();
        text.textContent = state === 0 ? "= " + data.strings[value] : ["", "optimized out", "unreadable", "not in scope"][state];
        if (state !== 0) text.className = "gone";
        const sort = row.insertCell();
        sort.textContent = ["local", "parameter", "global"][kind];
        sort.className = "k";
      }
      root.querySelector(".vars").replaceChildren(table);
    }

    root.querySelector(".back").addEventListener("click", () => show(at - 1));
    root.querySelector(".next").addEventListener("click", () => show(at + 1));
    slider.addEventListener("input", () => show(Number(slider.value)));
    show(start);
    return { move: (by) => show(at + by), show };
  }

  const panes = [pane("ref", data.ref, data.ref.start), pane("opt", data.opt, data.opt.start)];
  const both = (by) => panes.forEach((p) => p.move(by));
  document.getElementById("both-back").addEventListener("click", () => both(-1));
  document.getElementById("both-next").addEventListener("click", () => both(1));
  document.getElementById("to-fault").addEventListener("click", () => {
    panes[0].show(data.ref.start);
    panes[1].show(data.opt.start);
    focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT") return;
    if (event.key === "ArrowLeft") both(-1);
    if (event.key === "ArrowRight") both(1);
  });
  focus();
})();

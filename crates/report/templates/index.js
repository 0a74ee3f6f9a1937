"use strict";
(function () {
  const rows = Array.from(document.querySelectorAll("#list tbody tr"));
  const controls = ["compiler", "opt", "kind", "verdict"].map((name) => [name, document.getElementById("f-" + name)]);
  const distinct = document.getElementById("f-distinct");
  const text = document.getElementById("f-text");

  function apply() {
    const needle = text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits =
        controls.every(([name, control]) => control.value === "" || row.dataset[name] === control.value) &&
        (!distinct.checked || row.dataset.first === "true") &&
        (needle === "" || row.textContent.toLowerCase().includes(needle));
      row.hidden = !fits;
      if (fits) shown += 1;
    }
    document.getElementById("shown").textContent = shown + " of " + rows.length;
    document.getElementById("none").hidden = shown > 0;
  }

  for (const [, control] of controls) control.addEventListener("change", apply);
  distinct.addEventListener("change", apply);
  text.addEventListener("input", apply);
  for (const row of rows) {
    row.addEventListener("click", (event) => {
      if (event.target.tagName !== "A") location.href = row.querySelector("a").href;
    });
  }
  apply();
})();

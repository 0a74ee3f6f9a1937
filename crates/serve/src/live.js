// Added to every served page: counts that stay true, findings that appear, links to a finding's analyses.
(function () {
  "use strict";
  const badge = document.createElement("div");
  badge.id = "live";
  badge.style.cssText =
    "position:fixed;right:1rem;bottom:1rem;padding:.4rem .8rem;border-radius:1rem;background:#1f2937;color:#fff;" +
    "font:14px system-ui,sans-serif;box-shadow:0 2px 8px rgba(0,0,0,.3)";
  document.body.appendChild(badge);
  const list = () => document.querySelector("#list tbody");
  const ids = () => Array.from(document.querySelectorAll("#list tbody tr a"), (a) => Number(a.textContent));
  let shown = null;
  let added = 0;

  // The index again, with the filters as they were; its own script finds the new rows.
  function refresh() {
    return fetch("/index.html")
      .then((answer) => answer.text())
      .then((text) => {
        const next = new DOMParser().parseFromString(text, "text/html");
        const known = new Set(ids());
        const controls = Array.from(document.querySelectorAll("#filters select, #filters input"));
        const values = new Map(controls.map((c) => [c.id, c.type === "checkbox" ? c.checked : c.value]));
        const scroll = window.scrollY;
        document.querySelector("main").replaceWith(document.adoptNode(next.querySelector("main")));
        for (const [id, value] of values) {
          const control = document.getElementById(id);
          if (control.type === "checkbox") control.checked = value;
          else control.value = value;
        }
        const script = document.createElement("script");
        script.textContent = Array.from(next.querySelectorAll("body > script:not([src])"), (s) => s.textContent).join("\n");
        document.body.appendChild(script).remove();
        for (const row of document.querySelectorAll("#list tbody tr")) {
          if (known.has(Number(row.querySelector("a").textContent))) continue;
          row.style.background = "rgba(250, 204, 21, .25)";
          added += 1;
        }
        window.scrollTo(0, scroll);
      });
  }

  function show(now) {
    const state = now.units + " " + now.findings;
    const count = (number, what) => number + " " + what + (number === 1 ? "" : "s");
    const render = () => {
      const fresh = added > 0 ? " · " + added + " new" : "";
      badge.textContent = count(now.units, "unit") + " · " + count(now.findings, "finding") + " · " + now.distinct + " distinct" + fresh;
    };
    if (list() !== null && shown !== null && shown !== state) refresh().then(render);
    else render();
    shown = state;
  }

  function ask() {
    fetch("/live.json")
      .then((answer) => answer.json())
      .then(show)
      .catch(() => (badge.textContent = "the server has stopped"));
  }

  const finding = location.pathname.match(/^\/findings\/(\d+)\.html$/);
  if (finding !== null) {
    const links = document.createElement("p");
    links.id = "analyses";
    const analyses = [["repair", "this binary before and after a repair"]];
    // Only clang's findings are about LLVM's passes.
    if (document.getElementById("build").textContent.startsWith("clang"))
      analyses.unshift(["updates", "wrong updates in LLVM's passes on this program"]);
    for (const [name, text] of analyses) {
      const link = document.createElement("a");
      link.href = "/findings/" + finding[1] + "/" + name + ".html";
      link.textContent = text;
      link.style.marginRight = "1.5rem";
      links.appendChild(link);
    }
    document.querySelector("h1").after(links);
  }
  ask();
  setInterval(ask, 2000);
})();

// Sorts, filters and searches a table. The page's URL contains the search and the filters.
"use strict";
{
  const table = document.querySelector("table.data");
  const form = document.querySelector(".filters");
  if (table && form) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, text: [...row.cells].map((cell) => cell.textContent) }));
    for (const entry of rows) entry.all = entry.text.slice(0, -1).join(" \n").toLowerCase();
    const count = form.querySelector("output");
    const search = form.elements.q;
    const choices = [...form.querySelectorAll("select")];

    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = choices.filter((choice) => choice.value).map((choice) => [Number(choice.dataset.column), choice.value]);
      let left = 0;
      for (const { row, text, all } of rows) {
        const fits = words.every((word) => all.includes(word)) && chosen.every(([at, value]) => text[at] === value);
        row.hidden = !fits;
        left += fits;
      }
      count.textContent = left === rows.length ? `${left} rows` : `${left} of ${rows.length} rows`;
    };
    const kept = () => {
      const state = new URLSearchParams();
      if (search.value) state.set("q", search.value);
      for (const choice of choices) if (choice.value) state.set(`c${choice.dataset.column}`, choice.value);
      history.replaceState(null, "", state.size ? `#${state}` : "#");
    };
    const restore = () => {
      const hash = location.hash.slice(1);
      if (!hash.includes("=")) return;
      const state = new URLSearchParams(hash);
      search.value = state.get("q") || "";
      for (const choice of choices) choice.value = state.get(`c${choice.dataset.column}`) || "";
    };
    form.addEventListener("input", () => { filter(); kept(); });
    form.addEventListener("submit", (event) => event.preventDefault());

    const order = new Intl.Collator("en", { numeric: true });
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => head.querySelector("button")?.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      rows.sort((a, b) => {
        const [x, y] = [a.text[at], b.text[at]];
        if (!x || !y) return x ? -1 : y ? 1 : 0; // empty cells are last in both directions
        return up ? order.compare(x, y) : order.compare(y, x);
      });
      body.append(...rows.map(({ row }) => row));
    }));
    addEventListener("hashchange", () => { restore(); filter(); });
    restore();
    filter();
  }
}

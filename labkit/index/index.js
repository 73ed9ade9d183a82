"use strict";
(() => {
  const tools = document.getElementById("tools");
  if (!tools) {
    return;
  }
  const input = document.getElementById("filter");
  const order = document.getElementById("order");
  const count = document.getElementById("count");
  const none = document.getElementById("none");
  const body = document.querySelector("table.runs tbody");
  const rows = Array.from(body.rows);
  const heads = Array.from(document.querySelectorAll("table.runs thead th"));
  const STARTED = 1;

  function filter() {
    const asked = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !asked.every(word => row.dataset.text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    const all = rows.length === 1 ? "1 run" : `${rows.length} runs`;
    count.textContent = shown === rows.length ? all : `${shown} of ${all}`;
    none.hidden = shown > 0;
  }

  function compare(one, other) {
    const [left, right] = [Number(one), Number(other)];
    const numeric = one !== "" && other !== "" && !Number.isNaN(left) && !Number.isNaN(right);
    return numeric ? left - right : one.localeCompare(other);
  }

  // What is not known stands last whichever way the others go.
  function sort(column, descending) {
    const keys = new Map(rows.map(row => [row, row.cells[column].dataset.key]));
    rows.sort((one, other) => {
      const [left, right] = [keys.get(one), keys.get(other)];
      if (left === "" || right === "") {
        return (left === "") - (right === "");
      }
      return descending ? compare(right, left) : compare(left, right);
    });
    body.append(...rows);
    heads.forEach((head, number) => {
      if (number === column) {
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      } else {
        head.removeAttribute("aria-sort");
      }
    });
    order.value = String(column);
  }

  heads.forEach((head, number) => {
    head.querySelector("button").addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      sort(number, now ? now === "ascending" : number === STARTED);
    });
  });
  order.addEventListener("change", () => {
    sort(Number(order.value), Number(order.value) === STARTED);
  });
  input.addEventListener("input", filter);
  tools.hidden = false;
  filter();
})();

const region = document.querySelector(".scroll"), table = region.querySelector("table");
const heads = [...table.querySelectorAll("th[data-column]")].sort((a, b) => a.dataset.column - b.dataset.column);
const groups = [...table.querySelectorAll("th[scope=colgroup]")];
const spans = [...table.querySelectorAll("th[scope=rowgroup]")];
const blocks = [...table.tBodies].map((body) => ({
  body, rows: [...body.rows].filter((row) => row.cells[0].scope === "row"),
}));

// ------------------------------------------------------------------------------------------------------------ sorting
function keyOf(cell, numeric) {
  const text = cell.firstChild ? cell.firstChild.textContent.trim() : "";
  if (!numeric) return text === "" || text === "\u2013" ? null : text;
  const number = parseFloat(cell.dataset.value ?? text.replace("\u2212", "-").replace(/^[^0-9.+-]+/, ""));
  return Number.isNaN(number) ? null : number;
}

function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
}

function sort(head) {
  const numeric = head.classList.contains("number"), turns = ["none", "ascending", "descending"];
  if (numeric) turns.splice(1, 2, "descending", "ascending");
  const turn = turns[(turns.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
  for (const other of heads) other.setAttribute("aria-sort", other === head ? turn : "none");
  for (const { body, rows } of blocks) {
    const keys = new Map(rows.map((row) => [row, keyOf(row.cells[head.dataset.column], numeric)]));
    const sign = turn === "ascending" ? 1 : -1;
    body.append(...(turn === "none" ? rows : rows.toSorted((a, b) => compare(keys.get(a), keys.get(b), sign))));
  }
}

if (blocks.some(({ rows }) => rows.length > 1)) {
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.setAttribute("aria-sort", "none");
    head.append(button);
  }
}

// ----------------------------------------------------------------------------------------------------------- switches
const switches = document.createElement("fieldset");
switches.className = "switches";
const legend = document.createElement("legend");
legend.textContent = "Columns";
switches.append(legend);

function switchOf(text) {
  const label = document.createElement("label"), box = document.createElement("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => { show(); fit(); });
  label.append(box, text);
  switches.append(label);
  return box;
}

const ofPaper = heads.some((head) => head.classList.contains("paper")) ? switchOf("of the paper") : null;
const ofGroups = groups.length > 1 ? groups.map((group) => switchOf(group.textContent)) : [];

function groupOf(column) {
  return groups.findIndex(({ dataset }) => column >= +dataset.first && column < +dataset.end);
}

function show() {
  const shown = heads.map((head, column) =>
    (ofGroups[groupOf(column)]?.checked ?? true) && !(ofPaper && !ofPaper.checked && head.classList.contains("paper")));
  for (const [column, head] of heads.entries()) {
    head.hidden = !shown[column];
    for (const { rows } of blocks) for (const row of rows) row.cells[column].hidden = !shown[column];
  }
  for (const group of groups) {
    const count = shown.slice(+group.dataset.first, +group.dataset.end).filter(Boolean).length;
    group.hidden = !count;
    group.colSpan = count || 1;
  }
  for (const span of spans) span.colSpan = shown.filter(Boolean).length;
}

function fit() {
  region.classList.remove("fits");
  const fits = region.scrollWidth <= region.clientWidth;
  region.classList.toggle("fits", fits);
  return fits;
}

region.classList.toggle("long", blocks.reduce((sum, { rows }) => sum + rows.length, 0) > 12);
const wide = !fit();
if (wide) {  // as many groups as there is room for, the first in any case
  for (const box of ofGroups.slice(1)) box.checked = false;
  for (const box of ofGroups.slice(1)) {
    box.checked = true;
    show();
    if (!fit()) box.checked = false;
  }
  show();
  fit();
}
if (ofPaper || (wide && ofGroups.length)) region.before(switches);

// The cell that the address names, in whichever group.
function find() {
  const cell = document.getElementById(location.hash.slice(1));
  if (cell?.hidden) {
    ofGroups[groupOf(cell.cellIndex)].checked = true;
    show();
    fit();
  }
  cell?.scrollIntoView();
}

window.addEventListener("load", find);
window.addEventListener("hashchange", find);
window.addEventListener("resize", fit);
// Phones give a page another width after it is loaded, and a table that fits by then is as high as it is: the cell is
// found again until somebody does something.
const moved = new ResizeObserver(() => { if (location.hash) find(); });
moved.observe(document.body);
for (const event of ["wheel", "touchstart", "pointerdown", "keydown"]) {
  window.addEventListener(event, () => moved.disconnect(), { once: true, passive: true });
}

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

function turned(head) {
  const numeric = head.classList.contains("number"), turns = ["none", "ascending", "descending"];
  if (numeric) turns.splice(1, 2, "descending", "ascending");
  return turns[(turns.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
}

function sort(head, turn) {
  const numeric = head.classList.contains("number");
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
    button.addEventListener("click", () => {
      const turn = turned(head);
      sort(head, turn);
      keep("sort", turn === "none" ? [] : [`${head.dataset.column} ${turn}`]);
    });
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
  box.dataset.name = text;
  box.addEventListener("change", () => {
    show();
    fit();
    keep("columns", boxes.every((one) => one.checked === fitting.get(one)) ? [] : shownNames());
  });
  label.append(box, text);
  switches.append(label);
  return box;
}

const ofPaper = heads.some((head) => head.classList.contains("paper")) ? switchOf("of the paper") : null;
const ofGroups = groups.length > 1 ? groups.map((group) => switchOf(group.textContent)) : [];
const boxes = [...switches.querySelectorAll("input")], fitting = new Map();

function shownNames() {
  const names = boxes.filter((one) => one.checked).map((one) => one.dataset.name);
  return names.length ? names : [""];  // none at all
}

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
for (const box of boxes) fitting.set(box, box.checked);

restored(() => {
  const names = kept("columns"), [column, turn] = (kept("sort")[0] ?? "").split(" ");
  for (const box of boxes) box.checked = names.length ? names.includes(box.dataset.name) : fitting.get(box);
  show();
  fit();
  if (heads[column]?.hasAttribute("aria-sort") && /^(a|de)scending$/.test(turn)) sort(heads[column], turn);
  else if (heads[0]?.hasAttribute("aria-sort")) sort(heads[0], "none");
});

// ----------------------------------------------------------------------------------------------- addresses of cells
// A cell that is clicked, or that the arrow keys reach from the table, is named by the address, which can be copied.
let inSight = false;  // whether the named cell was in sight before

function name(cell) {
  if (!cell?.id || `#${cell.id}` === location.hash) return;
  const { scrollX, scrollY } = window, { scrollLeft, scrollTop } = region;
  inSight = true;
  location.replace(`#${cell.id}`);
  window.scrollTo(scrollX, scrollY);
  region.scrollTo(scrollLeft, scrollTop);
}

// A single link, in the cell under the pointer or else in the named cell, so that an address can be copied from it.
const link = document.createElement("a");
link.className = "address";
link.setAttribute("aria-label", "Address of this cell");

function offer(cell) {
  if (framed || !table.contains(cell) || !cell.id) return;
  link.href = `#${cell.id}`;
  cell.append(link);
}

table.addEventListener("pointerover", (event) => offer(event.target.closest("[id]")));
region.addEventListener("pointerleave", () => offer(document.getElementById(location.hash.slice(1))));

table.addEventListener("click", (event) => {
  if (!event.target.closest("a, button")) name(event.target.closest("[id]"));
});

const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
region.addEventListener("keydown", (event) => {
  const cell = document.getElementById(location.hash.slice(1)), step = STEPS[event.key];
  if (event.target !== region || !(step ? table.contains(cell) : event.key === "Enter")) return;
  event.preventDefault();
  if (!step) return name(table.querySelector("tbody [id]:not([hidden])"));
  const rows = [...table.querySelectorAll("tbody tr")].filter(({ cells }) => cells[0].scope === "row");
  let row = rows.indexOf(cell.parentElement), at = cell.cellIndex, next;
  do {
    row += step[0];
    at += step[1];
    next = rows[row]?.cells[at];
  } while (next && (next.hidden || !next.id));
  if (next) {
    name(next);
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
});

// ------------------------------------------------------------------------------------------------------------- paper
// Print has every column: smaller down to two thirds, else in parts, each with the first columns.
const PAPER = 960, SMALLEST = 2 / 3;
let parts = [];

function part(columns) {
  const copy = table.cloneNode(true), originals = [...table.rows].flatMap(({ cells }) => [...cells]);
  for (const [index, cell] of [...copy.rows].flatMap(({ cells }) => [...cells]).entries()) {
    const { dataset, cellIndex } = originals[index];
    if (cell.scope === "rowgroup") cell.colSpan = columns.length;
    else cell.hidden = !columns.includes(+(dataset.column ?? dataset.first ?? cellIndex));
    cell.removeAttribute("id");
  }
  copy.querySelector("caption").hidden = parts.length > 0;
  return copy;
}

function widthOf(columns) {
  return columns.reduce((sum, column) => sum + heads[column].offsetWidth, 0);
}

window.addEventListener("beforeprint", () => {
  for (const box of boxes) box.checked = true;
  show();
  region.classList.add("printed");
  const scale = PAPER / table.offsetWidth;
  if (scale >= SMALLEST || !groups.length) {
    table.style.zoom = Math.min(1, scale);
    return;
  }
  const first = heads.map((_, column) => column).filter((column) => groupOf(column) < 0);
  const room = PAPER / SMALLEST;
  let columns = [...first];
  const put = () => {
    if (columns.length > first.length) parts.push(Object.assign(part(columns), { className: "part" }));
    columns = [...first];
  };
  for (const { dataset } of groups) {
    const own = heads.map((_, column) => column).filter((column) => column >= +dataset.first && column < +dataset.end);
    if (widthOf([...columns, ...own]) > room) put();
    columns.push(...own);
  }
  put();
  for (const copy of parts) {
    region.append(copy);
    copy.style.zoom = SMALLEST;
  }
  table.hidden = true;
});

window.addEventListener("afterprint", () => {
  for (const copy of parts) copy.remove();
  parts = [];
  table.hidden = false;
  table.style.zoom = "";
  region.classList.remove("printed");
  const names = kept("columns");
  for (const box of boxes) box.checked = names.length ? names.includes(box.dataset.name) : fitting.get(box);
  show();
  fit();
});

// The cell that the address names, in whichever group.
function find() {
  const cell = document.getElementById(location.hash.slice(1));
  if (cell?.hidden) {
    const group = ofGroups[groupOf(cell.cellIndex)];
    if (group) group.checked = true;
    if (ofPaper && heads[cell.cellIndex].classList.contains("paper")) ofPaper.checked = true;
    show();
    fit();
  }
  cell?.scrollIntoView();
}

window.addEventListener("load", find);
window.addEventListener("hashchange", () => {
  if (!inSight) find();
  inSight = false;
});
window.addEventListener("resize", fit);
// Phones give a page another width after it is loaded, and a table that fits by then is as high as it is: the cell is
// found again until somebody does something.
const moved = new ResizeObserver(() => { if (location.hash) find(); });
moved.observe(document.body);
for (const event of ["wheel", "touchstart", "pointerdown", "keydown"]) {
  window.addEventListener(event, () => moved.disconnect(), { once: true, passive: true });
}

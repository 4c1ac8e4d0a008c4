"use strict";
// The list of images: only rows that are seen, and a few beside, are elements; all have one height.
const BESIDE = 3;
const MOST_VALUES = 3;
// Browsers end an element at 17 million pixels or more. In a longer list a pixel of the scroll bar stands for several of the rows.
const MOST_PIXELS = 15e6;
// More rows are not printed: filters choose which.
const MOST_PRINTED = 100;
const list = { rows: [], elements: new Map(), height: 1, first: 0, waiting: false, view: null, columns: [], search: null };

/** Show these rows, from the first. */
function showRows(view, rows) {
  Object.assign(list, { view, rows, columns: valuesShown(view), search: searchShown(view) });
  const lines = linesShown();
  document.documentElement.style.setProperty("--lines", lines.length);
  document.documentElement.style.setProperty("--values", list.columns.length);
  const head = ["captioner", "caption", list.search ? `found by ${list.search.by}` : "", ...list.columns.map(({ label }) => label)];
  byId("columns").replaceChildren(...head.map((text) => make("span", { title: text }, text)));
  for (const element of list.elements.values()) element.remove();
  list.elements.clear();
  const probe = make("li", { class: "row" });
  byId("list").append(probe);
  list.height = probe.offsetHeight;
  probe.remove();
  byId("list").style.height = `${Math.min(rows.length * list.height, MOST_PIXELS)}px`;
  fill();
}

/** The measures that lines have beside the rank: the one that is sorted by, then what is best known. */
function valuesShown(view) {
  const known = ["CIDEr", "METEOR", "SPICE", "CLIPScore"];
  const place = ({ metric, by, among }) => metric === state.measure && (by ?? "") === state.by && (among ?? "") === state.among ? -1
    : (known.indexOf(metric) + 1 || known.length + 1);
  const searched = (one) => one.metric === "rank" && searchOf(one) === state.search;
  return view.measures.filter((one) => (one.metric !== "rank" || place(one) < 0) && !searched(one))
    .sort((one, other) => place(one) - place(other) || one.number - other.number).slice(0, MOST_VALUES);
}

/** Pixels of rows that the list is too short for, and how far it can be scrolled. */
function surplus() {
  const length = list.rows.length * list.height, pixels = Math.min(length, MOST_PIXELS);
  return { extra: length - pixels, way: Math.max(1, pixels - innerHeight) };
}

/** Make the rows in sight, and a few beside. */
function fill() {
  list.waiting = false;
  const top = -byId("list").getBoundingClientRect().top, { extra, way } = surplus();
  const skipped = extra * Math.min(1, Math.max(0, top / way));
  list.first = Math.max(0, Math.ceil((top + skipped) / list.height));
  const last = Math.ceil((top + skipped + innerHeight) / list.height);
  place(Math.floor((top + skipped) / list.height) - BESIDE, last + BESIDE, skipped);
}

/** Have elements for the rows from one position to another, and for no others. */
function place(from, to, skipped) {
  const first = Math.max(0, from), last = Math.min(list.rows.length, to);
  for (const [position, element] of list.elements) {
    if ((position < first || position >= last) && !element.contains(document.activeElement)) {
      element.remove();
      list.elements.delete(position);
    }
  }
  for (let position = first; position < last; position++) {
    if (list.elements.has(position)) continue;
    const element = rowOf(list.view, position);
    list.elements.set(position, element);
    const after = [...list.elements.keys()].filter((other) => other > position);
    byId("list").insertBefore(element, after.length ? list.elements.get(Math.min(...after)) : null);
  }
  for (const [position, element] of list.elements) element.style.top = `${position * list.height - skipped}px`;
}

/** Have the rows that are printed, or the image that is open: browsers print no more of a dialog than fits on a page. */
function fillPaper() {
  if (byId("detail").open) return byId("paper").append(...byId("detail").cloneNode(true).childNodes);
  place(0, MOST_PRINTED, 0);
  for (const image of byId("list").querySelectorAll("img")) image.loading = "eager";
  byId("printed").textContent = list.rows.length > MOST_PRINTED ? `Printed are the first ${MOST_PRINTED}. Filters choose others.` : "";
}

function rowOf(view, position) {
  const row = list.rows[position], image = view.image[row];
  const element = make("li", { class: "row", "aria-posinset": position + 1, "aria-setsize": list.rows.length, "data-position": position });
  const name = view.images.id[image] + (view.copy[row] ? `, caption ${view.copy[row] + 1}` : "");
  const open = make("button", { type: "button", class: "thumbnail", "aria-label": `Open image ${name}` }, picture(view, image));
  open.addEventListener("click", () => openDetail(position));
  const references = view.images.references[image];
  const told = make("p", { class: "references" }, make("bdi", { class: "name" }, name), " ",
    ...(references.length ? references.flatMap((text, at) => [at ? " \u00b7 " : "", make("bdi", {}, text)]) : ["no references"]));
  element.append(open, told, make("div", { class: "lines" }, ...linesShown().map((who) => lineOf(view, who, row))));
  return element;
}

/** A captioner's line in a row. */
function lineOf(view, who, row) {
  const captioner = view.captioners.find(({ name }) => name === who);
  const text = captioner?.text[row] ?? null;
  const side = who === state.a ? "a" : who === state.b ? "b" : "";
  const other = view.captioners.find(({ name }) => name === (side === "a" ? state.b : state.a));
  const label = make("span", { class: "who", title: who }, ...(side ? [make("span", { class: `badge ${side}` }, side.toUpperCase())] : []), make("span", {}, who));
  if (text === null) return make("div", { class: "line" }, label, make("span", { class: "soft" }, "no caption"));
  const words = marked(text, side ? other?.text[row] : null, captioner.unknown[row], side === "b" ? "del" : "ins");
  const repeats = captioner.repeats.get(text);
  const caption = make("span", { class: "caption", dir: "auto", lang: view.language }, ...spoken(text, words),
    ...(repeats > 1 ? [" ", make("span", { class: "repeats", title: `said of ${repeats} images` }, `\u00d7${repeats}`)] : []));
  const values = list.columns.map((measure) =>
    make("span", { class: "value" }, make("span", { class: "label" }, `${measure.label} `), shown(valueOf(captioner, measure, row), measure)));
  return make("div", { class: `line ${side}` }, label, caption, rankOf(valueOf(captioner, list.search, row), list.search), ...values);
}

/** Whether an image was found, in a word and a sign. */
function rankOf(rank, search) {
  if (!search) return make("span", { class: "rank" });
  if (rank === null) return make("span", { class: "rank soft", title: "not searched" }, "\u2013");
  return rank === 1 ? make("span", { class: "rank found" }, "\u2713 found") : make("span", { class: "rank missed" }, `\u2717 rank ${rank}`);
}

function watchList() {
  const later = () => {
    if (!list.waiting) requestAnimationFrame(fill);
    list.waiting = true;
  };
  addEventListener("scroll", later, { passive: true });
  addEventListener("resize", () => { if (list.view) showRows(list.view, list.rows); });
  addEventListener("beforeprint", () => { if (list.view) fillPaper(); });
  addEventListener("afterprint", () => {
    byId("paper").replaceChildren();
    if (list.view) fill();
  });
  byId("list").addEventListener("keydown", (event) => {
    const position = Number(event.target.closest("li")?.dataset.position);
    const last = list.rows.length - 1;
    const next = { ArrowDown: position + 1, ArrowUp: position - 1, Home: 0, End: last }[event.key];
    if (next === undefined || next < 0 || next > last || !alone(event)) return;
    event.preventDefault();
    focusRow(next);
  });
}

/** Bring a row into sight and put the focus on its picture. */
function focusRow(position) {
  const start = byId("list").getBoundingClientRect().top + scrollY, head = byId("columns").offsetHeight, { extra, way } = surplus();
  const scrolled = (top) => start + (top < way + extra ? top * way / (way + extra) : top - extra);
  const above = scrolled(position * list.height - head), below = scrolled((position + 1) * list.height - innerHeight);
  if (above < scrollY) scrollTo(0, above);
  else if (below > scrollY) scrollTo(0, below);
  fill();
  list.elements.get(position)?.querySelector("button").focus({ preventScroll: true });
}

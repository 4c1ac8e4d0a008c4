"use strict";
// The data of the run, and the elements that they are shown in. Scripts in data/ hand over what they hold by name.
const handed = new Map();
function captionlab(name, data) {
  handed.set(name, data);
}

/** What a script in data/ holds; a promise that fails where it cannot be loaded. */
function load(name) {
  if (handed.has(name)) return Promise.resolve(handed.get(name));
  return new Promise((resolve, reject) => {
    const script = make("script", { src: `data/${encodeURIComponent(name)}.js` });
    script.addEventListener("load", () => { script.remove(); resolve(handed.get(name)); });
    script.addEventListener("error", () => reject(new Error(`data/${name}.js cannot be loaded; copy the whole folder of this page`)));
    document.head.append(script);
  });
}

/** An element with attributes and children; texts become text and nothing else. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(attribute, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}
const byId = (id) => document.getElementById(id);
/** A function whose value is computed when it is first asked for, and kept. */
function once(compute) {
  let value;
  return () => value ??= compute();
}
/** Whether a key is pressed alone; with Alt, Control or Command it is the browser's, such as Alt and an arrow for Back. */
const alone = (event) => !(event.altKey || event.ctrlKey || event.metaKey);
/** Whether a text has anything to be seen. */
const visible = (text) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(text);

/** What is looked at: an evaluation on a corpus, its columns, and how measures are called. */
function viewOf(corpus, data, evaluation) {
  const found = data.evaluations.find((one) => one.name === evaluation) ?? data.evaluations[0];
  const measures = (found?.measures ?? []).map((measure, number) => ({ ...measure, number, label: labelOf(measure) }));
  const captioners = (found?.captioners ?? []).map((one) => {
    const counts = once(() => repeatsOf(one.text, found.image));
    return { ...one, ...handed.get("_run").captioners[one.name], get repeats() { return counts(); } };
  });
  return { corpus, language: data.language, images: data.images, ...found, measures, captioners, rows: found?.image.length ?? 0 };
}
function labelOf({ metric, by, among }) {
  if (metric === "rank") return `rank by ${by} among ${among}`;
  return by === null ? metric : `${metric} by ${by}`;
}
const ranksOf = (view) => view.measures.filter(({ metric }) => metric === "rank");
const searchShown = (view) => ranksOf(view).find((one) => searchOf(one) === state.search) ?? null;
const searchOf = ({ by, among }) => `${by}, ${among}`;

/** By text the number of different images that a captioner says it of; rows are ordered by image. */
function repeatsOf(texts, images) {
  const counts = new Map(), last = new Map();
  texts.forEach((text, row) => {
    if (text === null || last.get(text) === images[row]) return;
    last.set(text, images[row]);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  });
  return counts;
}

/** The measure that a table calls so: P@1 and its like are of the rank. Null for one that the page has of no single caption. */
function measureCalled(view, metric, by, among) {
  const same = (one) => one.by === (by || null) && (!among || one.among === among);
  return view.measures.find((one) => one.metric === metric && same(one))
    ?? (by && /^(P@|R@|rank|mean rank|median rank)/.test(metric) ? ranksOf(view).find(same) : null)
    ?? (by ? null : view.measures.find((one) => one.metric === metric)) ?? null;
}
const valueOf = (captioner, measure, row) => captioner?.values[measure?.number]?.[row] ?? null;
const decimalsOf = (measure) => measure.metric === "rank" ? 0 : 1;
/** A number as tables print it, with a real minus. */
function shown(value, measure, sign = false) {
  if (value === null) return "\u2013";
  const text = Math.abs(value).toFixed(decimalsOf(measure));
  return `${value < 0 ? "\u2212" : sign && value > 0 ? "+" : ""}${text}`;
}

/** A picture of an image, or what is said in its place. */
function picture(view, image, alt = "") {
  if (view.missing.without.has(image)) return make("span", { class: "none" }, "no image file");
  if (view.missing.broken.has(image)) return make("span", { class: "none" }, "image cannot be read");
  const folder = Math.floor(image / handed.get("_run").folder);
  const element = make("img", { src: `thumbnails/${view.corpus}/${folder}/${image}.jpg`, alt, loading: "lazy", decoding: "async" });
  element.addEventListener("error", () => element.replaceWith(make("span", { class: "none" }, "image cannot be read")));
  return element;
}
